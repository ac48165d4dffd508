#include "wgmma/load_words.cuh"

// The lane's two weights of a word are a byte, which select picks. A product with 2^12 + 1 moves the second to the upper half of a
// register: where widen_neighbour finds it.
__device__ __forceinline__ void make_factors(factors_t &m, const words_t &word, unsigned int select)
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            m[i / 2][r + i % 2 * 2] = widen_neighbour(__byte_perm(word[r][i], 0, select) * 0x1001, 0);
}

