#pragma unroll
for (int i = 0; i < M_SCALES; i += LINES)
    if (i + line < M_SCALES)
        shared->scales[stage].M[own_part % PARTS][i + line] = m_scales[i / LINES];
