#pragma unroll
for (int word = 0; word < SCALE_WORDS; ++word)
#pragma unroll
    for (int row = 0; row < (BM + 127) / 128 * 128; row += SCALERS)
        scales.M[word][place_of_scales(row + own)] = row < BM ? m_words[word][row / SCALERS] : 0u;
