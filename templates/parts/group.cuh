// The rows of P that this block computes begin at block_row, and their group ends before row j.
group_t group;
if (!find_group(offsets, all_rows, BM, tile_y, group))  //@ offset_rows for offsets  //@ tile_height for BM  //@ row_of_tiles for tile_y
    return;  // there are more blocks than tiles
const index_t block_row = group.begin + static_cast<index_t>(tile_y - group.before) * BM, j = group.end;  //@ tile_height for BM  //@ row_of_tiles for tile_y
//@ instead factor_of_group
N += group.number * stride_n;
//@ end
