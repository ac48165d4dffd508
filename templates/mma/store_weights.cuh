
// store_weights: those that copy has loaded, some steps after it, into the same tile.
const auto store_weights = [&](phase_t &into) {
#pragma unroll
    for (int line = 0; line < M_LINES; line += M_GO) {
        if (m_line + line >= M_LINES)  //@ only m_spares
            break;  // there are more threads than copies
        store_widened<M_WIDTH>(&into.M[m_place(m_line + line, m_first)], m_weights[line / M_GO]);
    }
};
