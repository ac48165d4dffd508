#pragma unroll
for (int r = 0; r < WM / 16; ++r)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned int scales = __shfl_sync(0xffffffffu, m_scale[word][r / 2], lane / 4 * 4 + r % 2 * 2 + i % 2);
        m[step % 2][r][i] ^= scales >> 8 * (i / 2 * 2 + lane % 4 / 2) & 0x80u ? 0x88888888u : 0u;
    }
