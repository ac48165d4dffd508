constexpr int M_WIDTH = 4;
constexpr int M_ROWS = 128;
constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
const int m_kk = thread / (M_ROWS / M_WIDTH);
const int m_row = thread % (M_ROWS / M_WIDTH) * M_WIDTH;
const input_t *m_from = &M[m_kk * ld_m + block_row + m_row];
