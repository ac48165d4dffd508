// j512 k300 l700 f32 N:e2m1
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

// Two floats of 4 bits for storage, 2 of exponent and 1 of fraction, neighbours of a line: the first in the lower half of a byte.
struct e2m1x2 {
    unsigned char bits;

    // Its exponent and fraction, in their places, are a float that is 2^126 too small: 1 and 127 are the biases.
    __device__ float operator[](int half) const
    {
        const unsigned int number = bits >> 4 * half;
        return __uint_as_float((number & 8u) << 28 | (number & 7u) << 22) * 0x1p126f;
    }
};

using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = (l + 1) / 2;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_f32_512x300x700(
    const float *__restrict__ M,
    const e2m1x2 *__restrict__ N,
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
        Nds[ty][tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col / 2][Col % 2] : sum_t{0};
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Col >= l)
        return;  // this thread only helped to load
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
