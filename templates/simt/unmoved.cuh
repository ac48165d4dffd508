const index_t block_row = static_cast<index_t>(tile_y) * BM;
