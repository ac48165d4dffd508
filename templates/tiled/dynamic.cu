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
//@| #include "parts/repacked.cuh"  //@ repacked
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
    //@| if (block_col > block_row)  //@ tile_beyond_diagonal for block_col > block_row  //@ only symmetric
    //@|     return;  // this tile is the mirror image of another
    //@| const long long from = gathered(m_index, Row, j, m_rows);  // the row of M  //@ only gathers_m
    //@| const index_t m_row = block_row + tx;  // M is column-major: neighbouring threads load neighbouring rows  //@ only not m_row_major
    //@| const index_t n_col = block_col + ty;  // N is column-major: neighbouring threads load down a column  //@ only not n_row_major

    //@| #include "parts/sum_of_parts.cuh"  //@ only adds_parts
    sum_t Pvalue = 0;  //@ only not adds_parts
    #include "tiled/multiply_dynamic.cuh"  //@ only not adds_parts

    if (Row >= j || Col >= l)  //@ check_j || check_l  //@ only returns_at_edge
        return;  // this thread only helped to load
    //@| #include "parts/one_triangle.cuh"  //@ only symmetric
    //@| #include "parts/beside.cuh"  //@ beside
    #include "parts/epilogue.cuh"
}
