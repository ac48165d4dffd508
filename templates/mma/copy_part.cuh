for (int line = 0; line < M_LINES; line += M_GO) {
    if (m_line + line >= M_LINES)  //@ only m_spares
        break;  // there are more threads than copies
    input_t *to = &into.M[m_place(m_line + line, m_first)];  //@ m_t for input_t
    copy_async_part<M_WIDTH>(to, &m_from[line * ld_m], m_left);  //@ m_line_at for line * ld_m  //@ m_copy_part for copy_async_part  //@ m_wanted for m_left
}
