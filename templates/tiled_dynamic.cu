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

//@ include "parts/launch.cuh"
// Shared memory of a launch: 2 * TILE_WIDTH * TILE_WIDTH elements of sum_t. TILE_WIDTH is what the launch makes it, so this one kernel
// serves every width.
extern __shared__ sum_t shared_tiles[];

extern "C" __global__ void
tiled_dynamic(  //@ kernel for tiled_dynamic
//@ include "parts/parameters.cuh"
{
    const int TILE_WIDTH = blockDim.x;
    sum_t *const Mds = shared_tiles;                            // the tile of M comes first,
    sum_t *const Nds = shared_tiles + TILE_WIDTH * TILE_WIDTH;  // the tile of N right behind it

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
        Mds[ty * TILE_WIDTH + tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ elif check_j
        Mds[ty * TILE_WIDTH + tx] = Row < j ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ elif check_k
        Mds[ty * TILE_WIDTH + tx] = k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        //@ else
        Mds[ty * TILE_WIDTH + tx] = M[Row * ld_m + k_tx];
        //@ end
        //@ else
        //@ if check_j and check_k
        Mds[ty * TILE_WIDTH + tx] = m_row < j && k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ elif check_j
        Mds[ty * TILE_WIDTH + tx] = m_row < j ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ elif check_k
        Mds[ty * TILE_WIDTH + tx] = k_ty < k ? M[k_ty * ld_m + m_row] : sum_t{0};
        //@ else
        Mds[ty * TILE_WIDTH + tx] = M[k_ty * ld_m + m_row];
        //@ end
        //@ end
        //@ if n_row_major
        //@ if check_l and check_k
        Nds[ty * TILE_WIDTH + tx] = Col < l && k_ty < k ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ elif check_l
        Nds[ty * TILE_WIDTH + tx] = Col < l ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ elif check_k
        Nds[ty * TILE_WIDTH + tx] = k_ty < k ? N[k_ty * ld_n + Col] : sum_t{0};
        //@ else
        Nds[ty * TILE_WIDTH + tx] = N[k_ty * ld_n + Col];
        //@ end
        //@ else
        //@ if check_l and check_k
        Nds[tx * TILE_WIDTH + ty] = n_col < l && k_tx < k ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ elif check_l
        Nds[tx * TILE_WIDTH + ty] = n_col < l ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ elif check_k
        Nds[tx * TILE_WIDTH + ty] = k_tx < k ? N[n_col * ld_n + k_tx] : sum_t{0};
        //@ else
        Nds[tx * TILE_WIDTH + ty] = N[n_col * ld_n + k_tx];
        //@ end
        //@ end
        __syncthreads();  // both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
        //@ if m_row_major
            Pvalue += Mds[ty * TILE_WIDTH + i] * Nds[i * TILE_WIDTH + tx];
        //@ else
            Pvalue += Mds[i * TILE_WIDTH + ty] * Nds[i * TILE_WIDTH + tx];
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
