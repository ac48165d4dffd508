const index_t own_row = static_cast<index_t>(tile_y) * BM;
const index_t block_row = min(own_row, static_cast<index_t>(j - BM));
