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

#include "parts/card.cuh"

#include "parts/rows.cuh"
#include "parts/launch.cuh"
//         2 * TILE_WIDTH * TILE_WIDTH elements of sum_t in dynamic shared memory.
// TILE_WIDTH is what the launch makes it, 32 at most: this one kernel serves every width.
extern __shared__ sum_t shared_tiles[];

extern "C" __global__ void __launch_bounds__(32 * 32)
tiled(
    #include "parts/parameters.cuh"
{
    const int TILE_WIDTH = blockDim.x;
    // sum_t: a narrower element is converted once, on its way in, not at each of its TILE_WIDTH uses.  //@ only widens
    sum_t *const Mds = shared_tiles;                            // the tile of M comes first,
    sum_t *const Nds = shared_tiles + TILE_WIDTH * TILE_WIDTH;  // the tile of N right after it

    //@ lines derived
    #include "parts/product.cuh"
    #include "parts/block.cuh"
    //@| const long long from = gathered(m_index, Row, j, m_rows);  // the row of M  //@ only gathers_m
    //@| const index_t m_row = block_row + tx;  // M is column-major: neighbouring threads load neighbouring rows  //@ only not m_row_major
    //@| const index_t n_col = block_col + ty;  // N is column-major: neighbouring threads load down a column  //@ only not n_row_major

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        // Zero, which adds nothing, where a tile hangs over the edge.  //@ only check_j or check_k or check_l
        const index_t k_tx = phase * TILE_WIDTH + tx;  //@ only m_row_major or not n_row_major
        const index_t k_ty = phase * TILE_WIDTH + ty;  //@ only n_row_major or not m_row_major
        Mds[ty * TILE_WIDTH + tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};  //@ check_j && check_k  //@ m_k for k_tx  //@ m_read for M[Row * ld_m + k_tx]  //@ m_inside for Row < j
        Nds[ty * TILE_WIDTH + tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};  //@ check_k && check_l  //@ n_k for k_ty  //@ n_col for Col  //@ n_read for N[k_ty * ld_n + Col]  //@ n_place for Nds[ty * TILE_WIDTH + tx]
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty * TILE_WIDTH + i] * Nds[i * TILE_WIDTH + tx];  //@ m_element for Mds[ty * TILE_WIDTH + i]
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Row >= j || Col >= l)  //@ check_j || check_l  //@ only returns_at_edge
        return;  // this thread only helped to load
    //@| #include "parts/beside.cuh"  //@ beside
    #include "parts/epilogue.cuh"
}
