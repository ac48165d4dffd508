float m_scale[TM];
#pragma unroll
for (int r = 0; r < TM; ++r)
    m_scale[r] = scales.M[first / PART][thread_row + r / 2 * 64 + r % 2 * 8];
