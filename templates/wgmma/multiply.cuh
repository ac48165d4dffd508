// The first row and column of P that this thread computes, in the block's tile.
const int lane = threadIdx.x % 32;
const int group_row = (warpgroup - 1) * WM;
const int thread_row = group_row + threadIdx.x % 128 / 32 * 16 + lane / 4;
const int thread_col = lane % 4 * 2;

for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
    index_t block_row, block_col;
    place_of(tile, block_row, block_col);
    sum_t sum[TM][TN] = {};
    //@ if promotes
    //@| sum_t part[TM][TN];  // of one phase: tensor cores keep 13 bits of it, so that all phases are added up by the thread
    //@ end
    settle(sum);
    for (int phase = 0; phase < phases; ++phase) {
        wait(full[stage], turn);
        begin_products();
#pragma unroll
        for (int kk = 0; kk < BK; kk += K_STEP)
#pragma unroll
            for (int r = 0; r < TM; r += 2)
                multiply_add(descriptor(m_place(tiles[stage], group_row + r * 32, kk), sizeof(tiles[stage].M[0])),
                             descriptor(n_place(tiles[stage], kk), sizeof(tiles[stage].N[0])), sum[r], sum[r + 1]);  //@ upper_sums for sum[r]  //@ lower_sums for sum[r + 1]
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
        //@ if promotes
        //@| settle(part);
//@| #pragma unroll
        //@| for (int r = 0; r < TM; ++r)
//@| #pragma unroll
        //@|     for (int c = 0; c < TN; ++c)
        //@|         sum[r][c] += part[r][c];
        //@ end
        next_stage();
    }
    //@ if releases_late
    wait_for_products<0>();
    if (phases > 0 && lane == 0)
        arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);
    //@ end
    settle(sum);
    #include "parts/store.cuh"  //@ include
}
