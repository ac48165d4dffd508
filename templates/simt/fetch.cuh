#pragma unroll
for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
    for (int row = 0; row < BM; row += M_ROWS) {
        auto &to = into.M[kk / M_STEPS][row / M_ROWS];
        const input_t *from = &m_from[row * ld_m + kk];  //@ only m_along_k
        //@| const input_t *from = &m_from[kk * ld_m + row];  //@ only not m_along_k
        to = read_or_zero<M_WIDTH>(from, row < rows_left && (phase > 0 || m_kk + kk < first_steps));  //@ clips_rows && check_k  //@ only clips_rows or check_k
        //@| to = read<M_WIDTH>(from);  //@ only not clips_rows and not check_k
    }
}
