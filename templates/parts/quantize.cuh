
// The kernel after the product, which has left P in f32 in W: it stores P in its own type. A team of threads finds the largest magnitude of
// SCALE_COLS neighbours of a row, which gives their scale, and stores them divided by it.
using quantized_t = float;
constexpr int P_ROWS = 512;
constexpr int P_COLS = 700;
constexpr long long LD_W = 700;
constexpr int SCALE_COLS = 128;
constexpr int SCALE_TEAM = 32;  // threads
constexpr int SCALE_TEAMS = 8;  // of a block, for neighbours of one row

#include "parts/scale_of.cuh"
// Launch: SCALE_TEAM * SCALE_TEAMS threads in a block,
//         (P_ROWS, ceil(P_COLS / (SCALE_TEAMS * SCALE_COLS))) blocks in the grid.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(SCALE_TEAM * SCALE_TEAMS)
quantize(
    //@ instead quantize_parameters
    long long ld_scale_p,
    const float *W,
    float *scale_p,
    quantized_t *P)
    //@ end
{
    const int thread = threadIdx.x % SCALE_TEAM;
    const long long Row = blockIdx.x;
    const int part = blockIdx.y * SCALE_TEAMS + threadIdx.x / SCALE_TEAM, first = part * SCALE_COLS, end = min(first + SCALE_COLS, P_COLS);

    #include "parts/awaits.cuh"
    //@ lines quantize_of_product
    //@| #include "parts/quantize_groups.cuh"  //@ rows_of_groups
    if (first >= P_COLS)
        return;
    W += Row * LD_W;
    P += Row * 700;  //@ quantized_ld for 700
    unsigned int largest = 0;
#pragma unroll 4
    for (int Col = first + thread; Col < end; Col += SCALE_TEAM)
        largest = max(largest, magnitude(W[Col]));
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        largest = max(largest, __shfl_xor_sync(~0u, largest, step));
    //@| #include "parts/quantize_row.cuh"  //@ largest_of_row
    const float scale = scale_of(largest), inverse = 1 / scale;
    if (thread == 0)
        scale_p[Row] = scale;  //@ scale_place for scale_p[Row]  //@ scale_value for scale
    #include "parts/quantize_cols.cuh"  //@ quantize_cols
}
