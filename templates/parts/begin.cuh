// This block's tile of P begins here.
const index_t block_row = static_cast<index_t>(tile_y) * BM;
const index_t block_col = static_cast<index_t>(tile_x) * BN;
