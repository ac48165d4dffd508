for (int line = 0; line < M_LINES; line += M_GO) {
    if (m_line + line >= M_LINES)  //@ only m_spares
        break;  // there are more threads than copies
    const auto weights = load_weights<M_WIDTH>(&m_from[line * ld_m]);  //@ m_load_weights for load_weights<M_WIDTH>  //@ m_asked for &m_from[line * ld_m]
    store_widened<M_WIDTH>(&into.M[m_place(m_line + line, m_first)], weights);
}
