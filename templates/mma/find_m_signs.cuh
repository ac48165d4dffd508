#pragma unroll
for (int word = 0; word < SCALE_WORDS; ++word)
#pragma unroll
    for (int i = 0; i < M_SCALES; ++i)
        signs |= m_scale[word][i];
