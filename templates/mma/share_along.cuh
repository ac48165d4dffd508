constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
const input_t *m_from = &M[(block_row + m_line) * ld_m + m_first];  //@ m_t for input_t
