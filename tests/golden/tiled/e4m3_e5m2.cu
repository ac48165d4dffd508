// j64 k48 l80 e4m3 N:e5m2 P:f16
//
//     P (64 x 80) = M (64 x 48) . N (48 x 80)
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

// IEEE half precision for storage: 16 bits in memory, a float in registers.
struct half {
    unsigned short bits;

    half() = default;

    // Round to nearest, ties to even.
    __device__ explicit half(float value)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
};

// A float of 8 bits for storage: 4 bits of exponent, 3 of fraction, no infinity (sm_89 and newer).
struct e4m3 {
    unsigned char bits;

    __device__ operator float() const
    {
        unsigned int pair;  // of halves
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(bits)));
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair)));
        return value;
    }
};

// A float of 8 bits for storage: 5 bits of exponent, 2 of fraction (sm_89 and newer).
struct e5m2 {
    unsigned char bits;

    __device__ operator float() const
    {
        unsigned int pair;  // of halves
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(bits)));
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair)));
        return value;
    }
};

using output_t = half;
using sum_t = float;
using index_t = int;

constexpr index_t j = 64;
constexpr index_t k = 48;
constexpr index_t l = 80;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_e4m3_64x48x80(
    const e4m3 *__restrict__ M,
    const e5m2 *__restrict__ N,
    output_t *P)
{
    // sum_t: a narrower element is converted once, on its way in, not at each of its TILE_WIDTH uses.
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
