constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
const input_t *m_from = &M[m_first];  //@ m_t for input_t
// Where the rows of M begin that this thread copies; negative: there is none.
long long m_at[(M_LINES + M_GO - 1) / M_GO];
#pragma unroll
for (int line = 0; line < M_LINES; line += M_GO)
    m_at[line / M_GO] = static_cast<long long>(gathered(m_index, block_row + m_line + line, j, m_rows)) * ld_m;
