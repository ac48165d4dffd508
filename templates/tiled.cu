// One block computes one TILE_WIDTH x TILE_WIDTH tile of P, one thread one element of it. The k dimension is walked in phases: in each,
// the block loads one tile of M and one tile of N into shared memory, where every element serves TILE_WIDTH threads.
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

//@ include "parts/card.cuh"
constexpr int TILE_WIDTH = 16;  //@ tile_width

//@ include "parts/launch.cuh"
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled(  //@ kernel for tiled
//@ include "parts/parameters.cuh"
{
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    //@ if n_row_major
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];
    //@ else
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH + 1];  // one more: the transposing store below walks down a column
    //@ end

//@ include "parts/derived.cuh"
//@ include "parts/block.cuh"
    //@ if not m_row_major
    const index_t m_row = block_row + tx;  // M is column-major: neighbouring threads load neighbouring rows
    //@ end
    //@ if not n_row_major
    const index_t n_col = block_col + ty;  // N is column-major: neighbouring threads load neighbours of one column
    //@ end

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        //@ if check_j or check_k or check_l
        // One element of M and one of N per thread; zero, which adds nothing, where a tile hangs over the edge.
        //@ else
        // One element of M and one of N per thread.
        //@ end
        //@ if m_row_major or not n_row_major
        const index_t k_tx = phase * TILE_WIDTH + tx;
        //@ end
        //@ if n_row_major or not m_row_major
        const index_t k_ty = phase * TILE_WIDTH + ty;
        //@ end
        //@ if m_row_major
        //@ if check_j and check_k
        Mds[ty][tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ elif check_j
        Mds[ty][tx] = Row < j ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ elif check_k
        Mds[ty][tx] = k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ else
        Mds[ty][tx] = M[Row * ld_m + k_tx];
        //@ end
        //@ else
        //@ if check_j and check_k
        Mds[ty][tx] = m_row < j && k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ elif check_j
        Mds[ty][tx] = m_row < j ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ elif check_k
        Mds[ty][tx] = k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ else
        Mds[ty][tx] = M[k_ty * ld_m + m_row];
        //@ end
        //@ end
        //@ if n_row_major
        //@ if check_l and check_k
        Nds[ty][tx] = Col < l && k_ty < k ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ elif check_l
        Nds[ty][tx] = Col < l ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ elif check_k
        Nds[ty][tx] = k_ty < k ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ else
        Nds[ty][tx] = N[k_ty * ld_n + Col];
        //@ end
        //@ else
        //@ if check_l and check_k
        Nds[tx][ty] = n_col < l && k_tx < k ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ elif check_l
        Nds[tx][ty] = n_col < l ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ elif check_k
        Nds[tx][ty] = k_tx < k ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ else
        Nds[tx][ty] = N[n_col * ld_n + k_tx];
        //@ end
        //@ end
        __syncthreads();  // both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
        //@ if m_row_major
            Pvalue += Mds[ty][i] * Nds[i][tx];
        //@ else
            Pvalue += Mds[i][ty] * Nds[i][tx];
        //@ end
        __syncthreads();  // everyone has read before the next phase overwrites them
    }

    //@ if check_j and check_l
    if (Row >= j || Col >= l)
        return;  // this thread only helped to load
    //@ elif check_j
    if (Row >= j)
        return;  // this thread only helped to load
    //@ elif check_l
    if (Col >= l)
        return;  // this thread only helped to load
    //@ end
//@ include "parts/value.cuh"
}
