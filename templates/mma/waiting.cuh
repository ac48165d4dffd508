vector_t<unsigned int, M_WIDTH / 4> m_weights[(M_LINES + M_GO - 1) / M_GO];  // of a phase, on their way from copy to store_weights

