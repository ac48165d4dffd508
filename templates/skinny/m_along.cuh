const index_t row = block_row + e / PHASE;
const index_t kk = phase + e % PHASE;
const index_t at = row * ld_m + kk;
