#pragma unroll
for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
    for (int row = 0; row < BM; row += M_ROWS) {
        sum_t *to = &Mds[stage][m_place(m_kk, m_row) + m_place(kk, row)];
        sum_t value[M_WIDTH];
#pragma unroll
        for (int i = 0; i < M_WIDTH; ++i)
            value[i] = from.M[kk / M_STEPS][row / M_ROWS].element[i];
#pragma unroll
        for (int i = 0; i < M_WIDTH; ++i)
            to[m_place(i, 0)] = value[i];  //@ only m_along_k
            //@| to[i] = value[i];  //@ only not m_along_k
    }
}
