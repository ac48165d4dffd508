#pragma unroll
for (int part = 0; part < PARTS; ++part)
#pragma unroll
    for (int i = 0; i < M_SCALES; i += 32)
        if (i + lane < M_SCALES)
            shared->scales[stage].M[part][i + lane] = m_scales[part][i / 32];
