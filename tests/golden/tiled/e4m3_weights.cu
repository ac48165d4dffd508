// j512 k300 l700 bf16 N:e4m3
//
//     P (512 x 700) = M (512 x 300) . N (300 x 700)
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

// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;

    // Round to nearest, ties to even. A NaN stays a NaN.
    __device__ explicit bfloat16(float value)
    {
#if __CUDA_ARCH__ >= 800
        unsigned int pair;  // value is its lower half
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned short>(pair);
#else
        const unsigned int word = __float_as_uint(value);
        if ((word & 0x7fffffffu) > 0x7f800000u)
            bits = static_cast<unsigned short>((word >> 16) | 0x0040u);
        else
            bits = static_cast<unsigned short>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
    }

    // Convert from the packed half; shifting an integer makes ptxas widen every element to a 32-bit register.
    __device__ operator float() const
    {
        float value;
        asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<unsigned short>(0)), "h"(bits));
        return value;
    }
};

// A float of 8 bits for storage: 4 bits of exponent, 3 of fraction, no infinity (sm_89 and newer).
struct e4m3 {
    unsigned char bits;

    // Its exponent and fraction, in their places, are a float that is 2^120 too small: 7 and 127 are the biases. So older devices read
    // it too.
    __device__ operator float() const
    {
        const unsigned int rest = bits & 0x7fu;
        return __uint_as_float(rest == 0x7f ? 0x7fffffffu : (bits & 0x80u) << 24 | rest << 20) * 0x1p120f;
    }
};

using output_t = bfloat16;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_bf16_512x300x700(
    const bfloat16 *__restrict__ M,
    const e4m3 *__restrict__ N,
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
        // Zero, which adds nothing, where a tile hangs over the edge.
        const index_t k_tx = phase * TILE_WIDTH + tx;
        const index_t k_ty = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        Nds[ty][tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Col >= l)
        return;  // this thread only helped to load
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
