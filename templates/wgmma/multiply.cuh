// The first rows of P that this warpgroup and this warp compute, in the block's tile.
const int lane = threadIdx.x % 32;
const int group_row = (warpgroup - 1) * WM;  //@ group_row for (warpgroup - 1) * WM
const int warp = threadIdx.x / 32 - 4;
const int warp_row = group_row + warp % 4 * 16;
// What this warpgroup multiplies at the ring's first place; all else lies so many bytes further on.
const auto m_first = moved(descriptor(&tiles[0].M, sizeof(tiles[0].M[0])), m_offset(group_row, 0));
const auto n_first = descriptor(&tiles[0].N, sizeof(tiles[0].N[0]));
//@ if p_map
//@| output_t (&boxes)[BOXES][16 * SLICE] = shared->boxes[warp];  //@ box_cols for SLICE
//@| int next_box = 0;
//@ elif not reduces
sum_t (&lines)[16][SLICE] = shared->lines[warp];
//@ end
//@ if reduces
//@| // The first row and column of P that this thread computes, in the block's tile.
//@| const int thread_row = warp_row + lane / 4, thread_col = lane % 4 * 2;
//@ end
//@ if scale_n and many_groups
//@| const float *const all_scales_n = scale_n;
//@ elif not has_groups
#include "parts/scale.cuh"
//@ end

//@ if pingpong
//@| int round = warpgroup == 1;  // of turns: what is new counts as over, so the first warpgroup begins
//@| pass(static_cast<long long>(warpgroup - 1) * phases);
//@| for (int tile = blockIdx.x + (warpgroup - 1) * gridDim.x; tile < rows * cols; tile += MULTIPLIERS * gridDim.x) {
//@ else
for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
//@ end
    //@ if has_groups
    //@| group_t group;
    //@| index_t block_row, block_col;
    //@| place_of(tile, group, block_row, block_col);
    //@| const index_t j = group.end;  // row j belongs to the next group
    //@ else
    index_t block_row, block_col;
    place_of(tile, block_row, block_col);
    //@ end
    //@ if scale_n and many_groups
    //@| scale_n = all_scales_n + group.number * stride_scale_n;
    //@ end
    //@ if has_groups
    //@| #include "parts/scale.cuh"
    //@ end
    sum_t sum[TM][TN] = {};
    settle(sum);
    //@ if pingpong
    //@| wait(begins[warpgroup - 1], round);
    //@| round ^= 1;
    //@ end
    //@ if promotes
    //@| #include "wgmma/promote.cuh"
    //@ else
    for (int phase = 0; phase < phases; ++phase) {
        const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
        wait(full[stage], turn);
        begin_products();
#pragma unroll
        for (int kk = 0; kk < BK; kk += K_STEP)
#pragma unroll
            for (int r = 0; r < TM; r += 2)
                multiply_add(moved(m, m_offset(r * 32, kk)), moved(n, n_offset(kk)), sum[r], sum[r + 1]);
        commit_products();
        //@ if releases_late
        // The products of the phase before are there, while those of this one are made: its place is free.
        wait_for_products<1>();
        if (phase > 0 && lane == 0)
            arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);
        //@ else
        //@| wait_for_products<0>();
        //@| if (lane == 0)
        //@|     arrive(empty[stage]);
        //@ end
        pass(1);
    }
    //@ end
    //@ if pingpong
    //@| if (lane == 0)
    //@|     arrive(begins[warpgroup % MULTIPLIERS]);
    //@ end
    //@ if releases_late
    // Until the last products are there. A tile's number is never negative, so this waits once. But it is a loop, across which ptxas
    // moves nothing: ahead of a plain second wait it may convert sums that tensor cores have yet to add to.
    asm volatile(
        "{\n"
        ".reg .pred again;\n"
        "last:\n"
        "wgmma.wait_group.sync.aligned 0;\n"
        "setp.lt.s32 again, %0, 0;\n"
        "@again bra last;\n"
        "}" ::"r"(tile) : "memory");
    if (phases > 0 && lane == 0)
        arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);
    //@ end
    //@ if pingpong
    //@| pass(static_cast<long long>(MULTIPLIERS - 1) * phases);  // those of the others
    //@ end
    settle(sum);
    #include "wgmma/store.cuh"
}
//@ if p_map
//@| if (lane == 0)
//@|     wait_until_stored<0>();
//@ end
