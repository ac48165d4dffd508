// The first rows of P that this warp stores, in the block's tile: those in its quarter of tensor memory.
const int lane = threadIdx.x % 32;
const int warp = warp_of_block - 4;
const int warp_row = warp * (BM / 4);
const unsigned quarter = sums + (warp * 32 << 16);
#include "wgmma/stored_by_warp.cuh"
#include "parts/scale.cuh"  //@ scale
#include "wgmma/first_turn.cuh"
for (int tile = blockIdx.x, number = 0; tile < rows * cols; tile += gridDim.x, ++number) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
    #include "wgmma/tile.cuh"  //@ tile
    //@| #include "wgmma/rows_of_group.cuh"  //@ only has_groups
    //@| #include "wgmma/of_product.cuh"  //@ only walks_products
    wait(done[number % 2], number / 2 % 2);
    fence_after_barrier();
    // One strip of columns after the other, from block_col on.
    for (int strip = 0; strip < BN; strip += STRIP, block_col += STRIP) {
        sum_t sum[TM][TN];  //@ only not may_be_empty
        load_strip(quarter + number % 2 * BN + strip, sum);  //@ only not may_be_empty
        //@| sum_t sum[TM][TN] = {};  //@ only may_be_empty
        //@| if (phases > 0)  //@ only may_be_empty
        //@|     load_strip(quarter + number % 2 * BN + strip, sum);
        if (strip + STRIP == BN) {
            fence_before_barrier();
            if (lane == 0)
                arrive(taken[number % 2]);  //@ take for arrive
        }
        //@ lines reduction_starts
        //@| #include "parts/quantize_tile.cuh"  //@ quantize_tile
        #include "wgmma/store_lines.cuh"  //@ store
        //@| #include "parts/reduce_warp.cuh"  //@ only reduces
    }
}
if (lane == 0)  //@ only p_map
    wait_until_stored<0>();
