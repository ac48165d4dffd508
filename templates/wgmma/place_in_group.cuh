// Rows of one group of rows, that is, for another one has another N.
const int rows = count_tiles(offsets, all_rows, BM), cols = (l + BN - 1) / BN;  //@ offset_rows for offsets
const auto place_of = [&](int tile, group_t &group, index_t &block_row, index_t &block_col) {
    find_group(offsets, all_rows, BM, tile / cols, group);  //@ offset_rows for offsets
    tile -= group.before * cols;
    const int first = tile / (GROUP * cols) * GROUP;
    const int height = min(GROUP, group.tiles - first);
    block_row = group.begin + static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
    block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
};
