// Tensor cores ignore the sign of a scale: the 16 elements, 8 bytes, of its row take it.  //@ once
#pragma unroll
for (int word = 0; word < SCALE_WORDS; ++word)
#pragma unroll
    for (int i = 0; i < (BM + SCALERS - 1) / SCALERS; ++i) {
        const int row = i * SCALERS + own;  //@ m_in_tile for i * SCALERS + own
        for (unsigned int signs = row >= 0 && row < BM ? m_words[word][i] & 0x80808080u : 0u; signs != 0; signs &= signs - 1) {  //@ m_edge for BM
            const int part = word * 4 + __ffs(signs) / 8 - 1;
            reinterpret_cast<unsigned long long *>(tiles[stage].M[0][row])[part ^ row % 8 * 2] ^= 0x8888888888888888ULL;
        }
    }
