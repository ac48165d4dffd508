// What this warp finds of rows and columns.
constexpr int WM = 16, WN = BN;
const int tile_x = block_col / BN, tile_y = block_row / BM;
const int warp = threadIdx.x / 32 - 4;
