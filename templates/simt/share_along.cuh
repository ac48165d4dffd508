constexpr int M_WIDTH = 1;
constexpr int M_RUN = 16;  // threads that copy neighbours along k, which go to different rows of the tile
constexpr int M_ROWS = THREADS / M_RUN < BM ? THREADS / M_RUN : BM;
constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
const int m_row = thread / M_RUN % M_ROWS;
const int m_kk = (thread / (M_RUN * M_ROWS) * M_RUN + thread % M_RUN) * M_WIDTH;
const input_t *m_from = &M[(block_row + m_row) * ld_m + m_kk];
