// j256 k256 l256 f32 P:e2m1 scale_p=e8m0:1x32:row-by-row
//
//     P (256 x 256) * scale_p = M (256 x 256) . N (256 x 256)
//
// One block computes one TILE_WIDTH x TILE_WIDTH tile of P, one thread one element of it. The k
// dimension is walked in phases: in each, the block loads one tile of M and one tile of N into
// shared memory, where every element serves TILE_WIDTH threads.
//
//                                l
//                         +----+----+----+
//                         |    | N  |    |
//                       k |    | || |    |   phase by phase, downwards
//                         |    | \/ |    |
//               k         +----+----+----+
//        +----+----+----+ +----+----+----+
//        |    |    |    | |    |    |    |
//        +----+----+----+ +----+----+----+
//      j |   M  ===>    | |    |tile| P  |
//        +----+----+----+ +----+----+----+
//         phase by phase

// Two floats of 4 bits for storage, 2 of exponent and 1 of fraction, neighbours of a line: the first in the lower half of a byte.
struct e2m1x2 {
    unsigned char bits;

    e2m1x2() = default;

    __device__ e2m1x2(float first, float second)
    {
        bits = static_cast<unsigned char>(nearest(first) | nearest(second) << 4);
    }

    // Round to nearest, ties to even. What is too large becomes 6, the largest number, and so does a NaN. Below 1, 2^22 is added to the
    // magnitude, in whose last bits it then stands in halves; else its first bit of fraction is the last one.
    static __device__ unsigned int nearest(float value)
    {
        const unsigned int sign = __float_as_uint(value) >> 31 << 3, magnitude = __float_as_uint(value) & 0x7fffffffu;
        const unsigned int small = __float_as_uint(__uint_as_float(magnitude) + 0x1p22f) & 7u;
        const unsigned int large = ((magnitude + 0x1fffffu + (magnitude >> 22 & 1u)) >> 22) - 252u;
        return sign | (magnitude < 0x3f800000u ? small : min(large, 7u));
    }
};

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 256;
constexpr index_t k = 256;
constexpr index_t l = 256;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_f32_256x256x256(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // This block's tile of P begins here.
    const index_t block_row = blockIdx.y * TILE_WIDTH;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        const index_t k_tx = phase * TILE_WIDTH + tx;
        const index_t k_ty = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = M[Row * ld_m + k_tx];
        Nds[ty][tx] = N[k_ty * ld_n + Col];
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}

// The kernel after the product, which has left P in f32 in W: it stores P in its own type. A team of threads finds the largest magnitude of
// SCALE_COLS neighbours of a row, which gives their scale, and stores them divided by it.
using quantized_t = e2m1x2;
constexpr int P_ROWS = 256;
constexpr int P_COLS = 256;
constexpr long long LD_W = 256;
constexpr int SCALE_COLS = 32;
constexpr int SCALE_TEAM = 32;  // threads
constexpr int SCALE_TEAMS = 8;  // of a block, for neighbours of one row

// The magnitude of a number, as bits, which compare as magnitudes do. A NaN is the largest of all.
__device__ __forceinline__ unsigned int magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

// The scale of some elements of P from the largest of their magnitudes: the least power of two, from 2^-126 on, by which that one
// divided is not above 6, the largest number of P's type. Zeros have the scale 1; a NaN or an infinity gives infinity.
__device__ __forceinline__ float scale_of(unsigned int largest)
{
    const int exponent = (largest + 0x3fffffu) >> 23;  // one more where the fraction is above that of 6
    const unsigned int power = static_cast<unsigned int>(max(exponent - 2, 1)) << 23;
    return __uint_as_float(largest == 0 ? 0x3f800000u : largest < 0x7f800000u ? power : 0x7f800000u);
}

// Launch: SCALE_TEAM * SCALE_TEAMS threads in a block,
//         (P_ROWS, ceil(P_COLS / (SCALE_TEAMS * SCALE_COLS))) blocks in the grid.
extern "C" __global__ void __launch_bounds__(SCALE_TEAM * SCALE_TEAMS)
quantize_f32_256x256x256(
    long long ld_scale_p,
    const float *W,
    unsigned char *scale_p,
    quantized_t *P)
{
    const int thread = threadIdx.x % SCALE_TEAM;
    const long long Row = blockIdx.x;
    const int part = blockIdx.y * SCALE_TEAMS + threadIdx.x / SCALE_TEAM, first = part * SCALE_COLS, end = min(first + SCALE_COLS, P_COLS);

    // This kernel may have started before the previous one has ended, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (first >= P_COLS)
        return;
    W += Row * LD_W;
    P += Row * 128LL;
    unsigned int largest = 0;
#pragma unroll 4
    for (int Col = first + thread; Col < end; Col += SCALE_TEAM)
        largest = max(largest, magnitude(W[Col]));
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        largest = max(largest, __shfl_xor_sync(~0u, largest, step));
    const float scale = scale_of(largest), inverse = 1 / scale;
    if (thread == 0)
        scale_p[Row * ld_scale_p + part] = static_cast<unsigned char>(__float_as_uint(scale) >> 23);
#pragma unroll 2
    for (int Col = first + 2 * thread; Col < end; Col += 2 * SCALE_TEAM)  // two share a byte
        P[Col / 2] = quantized_t(W[Col] * inverse, W[Col + 1] * inverse);
}
