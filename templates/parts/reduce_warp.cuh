
// reduce: the lanes of a warp that have elements of one row, or column, combine what each has found, and one of them writes it.
float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS
//@ if reduces_rows
const long long row_slot = tile_x * (BN / WARP_COLS) + warp % (BN / WARP_COLS);  //@ row_slot
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    //@ lines row_combined
    if (lane % LANE_COLS == 0 && Row < j && Row >= own_row) {  //@ && clips_rows && moves_rows
        //@ lines row_found
    }
}
//@ end
//@ if reduces_cols
const long long col_slot = tile_y * (BM / WARP_ROWS) + warp / (BN / WARP_COLS);  //@ col_slot
#pragma unroll
for (int c = 0; c < TN; ++c) {  //@ next_col for ++c
    const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
    //@ lines col_combined
    if (lane < LANE_COLS && Col < l && Col >= own_col) {  //@ && clips_cols && moves_cols
        //@ lines col_found
    }
}
//@ end
