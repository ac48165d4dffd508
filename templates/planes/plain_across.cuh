const int row = i % BM, kk = i / BM;
const index_t at = (phase * BK + kk) * ld_m + block_row + row;
