// j512 k300 l700 f32
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

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
//         2 * TILE_WIDTH * TILE_WIDTH elements of sum_t in dynamic shared memory.
// TILE_WIDTH is what the launch makes it, 32 at most: this one kernel serves every width.
extern __shared__ sum_t shared_tiles[];

extern "C" __global__ void __launch_bounds__(32 * 32)
tiled_f32_512x300x700(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    const int TILE_WIDTH = blockDim.x;
    sum_t *const Mds = shared_tiles;                            // the tile of M comes first,
    sum_t *const Nds = shared_tiles + TILE_WIDTH * TILE_WIDTH;  // the tile of N right behind it

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
        Mds[ty * TILE_WIDTH + tx] = k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        Nds[ty * TILE_WIDTH + tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty * TILE_WIDTH + i] * Nds[i * TILE_WIDTH + tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Col >= l)
        return;  // this thread only helped to load
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
