for (int line = 0; line < M_LINES; line += M_GO) {
    if (m_line + line >= M_LINES)  //@ only m_spares
        break;  // there are more threads than copies
    input_t *to = &into.M[m_place(m_line + line, m_first)];  //@ m_t for input_t
    copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m], line < m_lines_left && m_left > 0);  //@ copy_or_zero for copy_async_or_zero  //@ m_t for input_t  //@ m_clips_lines && m_clips_ends  //@ m_line_at for line * ld_m  //@ m_line_inside for line < m_lines_left
}
