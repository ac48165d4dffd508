using words_t = unsigned int[2][8];  // of a unit, 4 weights each

// at: where the lane's first chunk lies.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int i = 0; i < 8; i += 4)
            load_chunk(word[r][i], word[r][i + 1], word[r][i + 2], word[r][i + 3], (at ^ i * 4) + r * 8 * M_LINE);
}

// The lane's weights are two neighbours of every two words, which select picks.
__device__ __forceinline__ void make_factors(factors_t &m, const words_t &word, unsigned int select)
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            m[i / 2][r + i % 2 * 2] = widen_neighbour(__byte_perm(word[r][2 * i], word[r][2 * i + 1], select), 0);
}

