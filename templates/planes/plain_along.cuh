const int row = i / BK, kk = i % BK;
const index_t at = (block_row + row) * ld_m + phase * BK + kk;
