for (int line = 0; line < M_LINES; line += M_GO) {
    if (m_line + line >= M_LINES)  //@ only m_spares
        break;  // there are more threads than copies
    input_t *to = &into.M[m_place(m_line + line, m_first)];  //@ m_t for input_t
    copy_async<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m]);  //@ copy_whole for copy_async  //@ m_t for input_t
}
