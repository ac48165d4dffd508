using words_t = unsigned int[2];  // of a unit, 8 weights each

// at: where the lane's first word lies.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word[r]) : "r"(at + r * 8 * M_LINE) : "memory");
}

// The two neighbours of a register lie half a word apart.
__device__ __forceinline__ void make_factors(factors_t &m, const words_t &word)
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            m[i / 2][r + i % 2 * 2] = widen_neighbour(word[r], i);
}

