#pragma unroll
for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
    for (int row = 0; row < BM; row += M_ROWS) {
        if ((kk * BM + row * M_STEPS) * PIECES / (BK * BM) != piece)  //@ only spreads_copies
            continue;
        const input_t *from = &m_from[row * ld_m + kk];  //@ only m_along_k
        //@| const input_t *from = &m_from[kk * ld_m + row];  //@ only not m_along_k
        sum_t *to = &into.M[m_kk + kk][m_row + row];  //@ m_stored for m_kk + kk][m_row + row
        copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, from, row < rows_left && (phase > 0 || m_kk + kk < first_steps));  //@ clips_rows && check_k  //@ only clips_rows or check_k
        //@| copy_async<M_WIDTH * sizeof(input_t)>(to, from);  //@ only not clips_rows and not check_k
    }
}
