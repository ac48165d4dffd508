const long long row_slot = tile_x * (BN / WARP_COLS) + warp % (BN / WARP_COLS);  //@ row_slot
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    //@ lines row_combined
    if (lane % LANE_COLS == 0 && Row < j && Row >= own_row) {  //@ && clips_rows && moves_rows
        //@ lines row_found
    }
}
