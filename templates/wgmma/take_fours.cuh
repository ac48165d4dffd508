#include "wgmma/load_words.cuh"

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
