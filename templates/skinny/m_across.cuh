const index_t row = block_row + e % TM;
const index_t kk = phase + e / TM;
const index_t at = kk * ld_m + row;
