// at: where the lane's first chunk lies. Its weights are byte lane % 4 of each word, which select picks twice: as it is, and moved by
// half a byte, for the second of two.
__device__ __forceinline__ void take_factors(factors_t &m, unsigned at, unsigned int select)
{
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        unsigned int word[4];
        load_chunk(word, at + (r / 2 * 64 + r % 2 * 8) * M_LINE);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            m[i / 2][r / 2][r % 2 + i % 2 * 2] = widen_neighbour(__byte_perm(word[i], word[i] >> 4, select), 0);
    }
}

