const index_t block_row = static_cast<index_t>(blockIdx.y) * BLOCK_ROWS;  //@ rows_axis for y
//@| #include "parts/split_of_k.cuh"  //@ only splits_k
const int lane = threadIdx.x % WARP;
const int warp = threadIdx.x / WARP;
const int k_lane = lane % K_LANES;
const int row_lane = lane / K_LANES % ROW_LANES;
const int col_lane = lane / (K_LANES * ROW_LANES);
