using words_t = unsigned int[2][4];  // of a unit, 8 weights each

// at: where the lane's first chunk lies.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
        load_chunk(word[r][0], word[r][1], word[r][2], word[r][3], at + r * 8 * M_LINE);
}
