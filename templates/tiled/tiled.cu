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
constexpr int TILE_WIDTH = 16;

//@ if has_groups
//@| #include "parts/groups.cuh"
//@ end
#include "parts/launch.cuh"
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled(
    #include "parts/parameters.cuh"
{
    //@ if widens
    // sum_t: a narrower element is converted once, on its way in, not at each of its TILE_WIDTH uses.
    //@ end
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    //@ if n_row_major
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];
    //@ else
    //@| __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH + 1];  // + 1: the loads below store down a column, into other banks then
    //@ end

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
        Mds[ty][tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};  //@ check_j && check_k  //@ m_element for M  //@ m_in_line for + k_tx]
        //@ else
        //@| Mds[ty][tx] = m_row < j && k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};  //@ check_j && check_k  //@ m_element for M  //@ m_in_line for + m_row]
        //@ end
        //@ if n_row_major
        Nds[ty][tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};  //@ check_k && check_l  //@ n_element for N  //@ n_in_line for + Col]
        //@ else
        //@| Nds[tx][ty] = k_tx < k && n_col < l ? N[n_col * ld_n + k_tx] : sum_t{0};  //@ check_k && check_l  //@ n_element for N  //@ n_in_line for + k_tx]
        //@ end
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
        //@ if m_row_major
            Pvalue += Mds[ty][i] * Nds[i][tx];
        //@ else
        //@|     Pvalue += Mds[i][ty] * Nds[i][tx];
        //@ end
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    //@ if reduces
    //@| #include "parts/reduce_block.cuh"
    //@ else
    //@ if check_j or check_l
    if (Row >= j || Col >= l)  //@ check_j || check_l
        return;  // this thread only helped to load
    //@ end
    #include "parts/beside.cuh"
    #include "parts/epilogue.cuh"
    //@ end
}
//@ if reduces
//@| #include "parts/combine.cuh"
//@ end
