int from[(M_SCALES + LINES - 1) / LINES];  // rows of M that are gathered; negative: none
#pragma unroll
for (int i = 0; i < M_SCALES; i += LINES)
    from[i / LINES] = gathered(m_index, block_row + i + line, j, m_rows);  //@ end_of_rows for j
