// The first rows of P that this warpgroup and this warp compute, in the block's tile.
const int lane = threadIdx.x % 32;
const int group_row = (warpgroup - 1) * WM;  //@ group_row for (warpgroup - 1) * WM
const int warp = threadIdx.x / 32 - 4;
//@| #include "wgmma/slice.cuh"  //@ slice_of_warpgroup
const int warp_row = group_row + warp % 4 * 16;
// What this warpgroup multiplies at the ring's first place; all else lies so many bytes further on.
const auto m_first = moved(descriptor(&tiles[0].M, sizeof(tiles[0].M[0])), m_offset(group_row, 0));  //@ only not m_registers
//@| #include "wgmma/first_factors.cuh"  //@ first_factors
const auto n_first = descriptor(&tiles[0].N, sizeof(tiles[0].N[0]));
#include "wgmma/stored_by_warp.cuh"
#include "parts/scale.cuh"  //@ scale

#include "wgmma/first_turn.cuh"
//@| #include "wgmma/part.cuh"  //@ only promotes
for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols  //@ first_tile for blockIdx.x  //@ next_tile for gridDim.x
    #include "wgmma/tile.cuh"  //@ tile
    //@| #include "wgmma/rows_of_group.cuh"  //@ only has_groups
    //@| #include "wgmma/of_product.cuh"  //@ begin_tile
    sum_t sum[TM][TN] = {};
    settle(sum);
    //@| #include "wgmma/await_turn.cuh"  //@ only pingpong
    //@| #include "wgmma/promote.cuh"  //@ only promotes
    //@| #include "wgmma/multiply_registers.cuh"  //@ multiply_registers
    for (int phase = 0; phase < phases; ++phase) {  //@ only not promotes and not m_registers
        const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
        wait(full[stage], turn);
        //@| publish_stores();  // copies of threads are there for the tensor cores too  //@ only gathers_m
        begin_products();
#pragma unroll
        for (int kk = 0; kk < BK; kk += K_STEP)
#pragma unroll
            for (int r = 0; r < TM; r += 2)
                multiply_add(moved(m, m_offset(r * 32, kk)), moved(n, n_offset(kk)), sum[r], sum[r + 1]);
        commit_products();
        #include "wgmma/release_late.cuh"  //@ release
        pass(1);
    }
    if (lane == 0)  //@ only pingpong
        arrive(begins[warpgroup % MULTIPLIERS]);
    #include "wgmma/last.cuh"  //@ last_release
    #include "wgmma/pass_others.cuh"  //@ only pingpong
    #include "wgmma/end_of_products.cuh"
    //@ lines reduction_starts
    //@| #include "parts/quantize_tile.cuh"  //@ quantize_tile
    #include "wgmma/store_lines.cuh"  //@ store
    //@| #include "parts/reduce_warp.cuh"  //@ only reduces
    //@| wait_for_products<0>();  //@ only ahead
}
if (lane == 0)  //@ only p_map
    wait_until_stored<0>();
