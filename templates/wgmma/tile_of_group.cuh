group_t group;
index_t block_row, block_col;
place_of(tile, group, block_row, block_col);
