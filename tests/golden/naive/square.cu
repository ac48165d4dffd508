// j1024 k1024 l1024 f32
//
//     P (1024 x 1024) = M (1024 x 1024) . N (1024 x 1024)
//
// One thread computes one element of P. It reads a whole row of M and a whole column of N from
// global memory to do so: every element of M is read l times, every element of N j times.

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 1024;
constexpr index_t k = 1024;
constexpr index_t l = 1024;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
naive_f32_1024x1024x1024(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // This block's tile of P begins here.
    const index_t block_row = blockIdx.y * TILE_WIDTH;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;

    sum_t Pvalue = 0;
    for (index_t i = 0; i < k; ++i)
        Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];

    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
