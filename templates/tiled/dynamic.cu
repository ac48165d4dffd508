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

//@ if has_groups
//@| #include "parts/groups.cuh"
//@ end
#include "parts/launch.cuh"
//         2 * TILE_WIDTH * TILE_WIDTH elements of sum_t in dynamic shared memory.
// TILE_WIDTH is what the launch makes it, 32 at most: this one kernel serves every width.
extern __shared__ sum_t shared_tiles[];

extern "C" __global__ void __launch_bounds__(32 * 32)
tiled(
    #include "parts/parameters.cuh"
{
    const int TILE_WIDTH = blockDim.x;
    //@ if widens
    // sum_t: a narrower element is converted once, on its way in, not at each of its TILE_WIDTH uses.
    //@ end
    sum_t *const Mds = shared_tiles;                            // the tile of M comes first,
    sum_t *const Nds = shared_tiles + TILE_WIDTH * TILE_WIDTH;  // the tile of N right behind it

    //@ lines derived
    #include "parts/product.cuh"
    #include "parts/block.cuh"
    //@ if not m_row_major
    //@| const index_t m_row = block_row + tx;  // M is column-major: neighbouring threads load neighbouring rows
    //@ end
    //@ if not n_row_major
    //@| const index_t n_col = block_col + ty;  // N is column-major: neighbouring threads load down a column
    //@ end

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        //@ if check_j or check_k or check_l
        // Zero, which adds nothing, where a tile hangs over the edge.
        //@ end
        //@ if m_row_major or not n_row_major
        const index_t k_tx = phase * TILE_WIDTH + tx;
        //@ end
        //@ if n_row_major or not m_row_major
        const index_t k_ty = phase * TILE_WIDTH + ty;
        //@ end
        //@ if m_row_major
        Mds[ty * TILE_WIDTH + tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};  //@ check_j && check_k  //@ m_element for M  //@ m_in_line for + k_tx]
        //@ else
        //@| Mds[ty * TILE_WIDTH + tx] = m_row < j && k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};  //@ check_j && check_k  //@ m_element for M  //@ m_in_line for + m_row]
        //@ end
        //@ if n_row_major
        Nds[ty * TILE_WIDTH + tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};  //@ check_k && check_l  //@ n_element for N  //@ n_in_line for + Col]
        //@ else
        //@| Nds[tx * TILE_WIDTH + ty] = k_tx < k && n_col < l ? N[n_col * ld_n + k_tx] : sum_t{0};  //@ check_k && check_l  //@ n_element for N  //@ n_in_line for + k_tx]
        //@ end
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
        //@ if m_row_major
            Pvalue += Mds[ty * TILE_WIDTH + i] * Nds[i * TILE_WIDTH + tx];
        //@ else
        //@|     Pvalue += Mds[i * TILE_WIDTH + ty] * Nds[i * TILE_WIDTH + tx];
        //@ end
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    //@ if check_j or check_l
    if (Row >= j || Col >= l)  //@ check_j || check_l
        return;  // this thread only helped to load
    //@ end
    #include "parts/beside.cuh"
    #include "parts/epilogue.cuh"
}
