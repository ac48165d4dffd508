using words_t = unsigned int[2][4];  // of a unit, 8 weights each

// at: where the lane's first chunk lies.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
        load_chunk(word[r][0], word[r][1], word[r][2], word[r][3], at + r * 8 * M_LINE);
}

// The lane's four weights are two neighbouring bytes of every two words, which select picks.
__device__ __forceinline__ void make_factors(factors_t &m, const words_t &word, unsigned int select)
{
#pragma unroll
    for (int far = 0; far < 2; ++far)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            unsigned int &four = m[0][r + far * 2];
            four = widen_four(__byte_perm(word[r][2 * far], word[r][2 * far + 1], select));
            asm volatile("" : "+r"(four));  // made here, and not where a product takes it
        }
}
