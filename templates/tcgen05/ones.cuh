#pragma unroll
for (int i = 0; i < (BM + SCALERS - 1) / SCALERS; ++i)
    m_words[word][i] = 0x7f7f7f7fu;  // ones  //@ ones for 0x7f7f7f7fu
