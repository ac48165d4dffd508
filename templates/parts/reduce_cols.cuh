const long long col_slot = tile_y * (BM / WARP_ROWS) + warp / (BN / WARP_COLS);  //@ col_slot
#pragma unroll
for (int c = 0; c < TN; ++c) {  //@ next_col for ++c
    const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
    //@ lines col_combined
    if (lane < LANE_COLS && Col < l && Col >= own_col) {  //@ && clips_cols && moves_cols
        //@ lines col_found
    }
}
