// at: where the lane's first chunk lies. Its weights are two neighbours of every two words, which select picks.
__device__ __forceinline__ void take_factors(factors_t &m, unsigned at, unsigned int select)
{
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned int word[4];
            load_chunk(word, (at ^ step * 16) + (r / 2 * 64 + r % 2 * 8) * M_LINE);
#pragma unroll
            for (int i = 0; i < 2; ++i)
                m[step][r / 2][r % 2 + i * 2] = widen_neighbour(__byte_perm(word[2 * i], word[2 * i + 1], select), 0);
        }
}

