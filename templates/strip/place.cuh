const index_t block_row = static_cast<index_t>(blockIdx.y) * BLOCK_ROWS;  //@ only rows_on_y
//@| const index_t block_row = static_cast<index_t>(blockIdx.x) * BLOCK_ROWS;  //@ only not rows_on_y
//@ if splits_k
//@| const index_t split_k = (k + SPLITS * PHASE - 1) / (SPLITS * PHASE) * PHASE;  // whole phases
//@| const index_t k_begin = blockIdx.z % SPLITS * split_k;
//@| const index_t k_end = k_begin + split_k < k ? k_begin + split_k : k;
//@ end
const int lane = threadIdx.x % WARP;
const int warp = threadIdx.x / WARP;
const int k_lane = lane % K_LANES;
const int row_lane = lane / K_LANES % ROW_LANES;
const int col_lane = lane / (K_LANES * ROW_LANES);
