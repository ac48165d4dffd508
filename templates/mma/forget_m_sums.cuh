#pragma unroll
for (int r = 0; r < TM; ++r)
    m_sum[r][0] = m_sum[r][1] = 0;
