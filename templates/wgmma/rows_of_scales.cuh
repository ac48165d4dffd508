int from[(M_SCALES + 31) / 32];  // rows of M that are gathered; negative: none
#pragma unroll
for (int i = 0; i < M_SCALES; i += 32)
    from[i / 32] = gathered(m_index, block_row + i + lane, j, m_rows);  //@ end_of_rows for j
