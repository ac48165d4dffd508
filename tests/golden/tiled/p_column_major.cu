// j512 k300 l700 f32 P:col
//
//     P (700 x 512) = M (700 x 300) . N (300 x 512)
//
// The caller's P is column-major. In memory that is its transpose, row-major, so this text computes the product of
// the transposes: its M is the caller's N, its N the caller's M, and j and l have changed places.
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

constexpr index_t j = 700;
constexpr index_t k = 300;
constexpr index_t l = 512;
constexpr index_t ld_m = j;
constexpr index_t ld_n = k;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_f32_512x300x700(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH + 1];  // + 1: the loads below store down a column, into other banks then

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // This block's tile of P begins here.
    const index_t block_row = blockIdx.y * TILE_WIDTH;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;
    const index_t m_row = block_row + tx;  // M is column-major: neighbouring threads load neighbouring rows
    const index_t n_col = block_col + ty;  // N is column-major: neighbouring threads load down a column

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        // Zero, which adds nothing, where a tile hangs over the edge.
        const index_t k_tx = phase * TILE_WIDTH + tx;
        const index_t k_ty = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = m_row < j && k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};
        Nds[tx][ty] = k_tx < k ? N[n_col * ld_n + k_tx] : sum_t{0};
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[i][ty] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Row >= j)
        return;  // this thread only helped to load
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
