#pragma unroll
for (int c = 0; c < WN / 8; ++c)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const unsigned int scales = __shfl_sync(0xffffffffu, n_scale[word][c / 4], lane / 4 * 4 + c % 4);
        n[step % 2][c][i] ^= scales >> 8 * (i * 2 + lane % 4 / 2) & 0x80u ? 0x88888888u : 0u;
    }
