index_t block_row, block_col;
place_of(tile, block_row, block_col);
