// PACK_WIDTH weights of a line from number `first` on, two in a byte; zero, where they are not there. A half byte after the line is not.
template <bool WIDE, typename pair_t>  //@ pack_wide,
__device__ __forceinline__ unsigned int load_pairs(const pair_t *line, long long first, long long elements)  //@ pairs_t for unsigned int
{
    unsigned int pairs = 0;  //@ pairs_t for unsigned int
    if (WIDE && first < elements)  //@ only pack_wide
        pairs = *reinterpret_cast<const unsigned int *>(&line[first / 2]);  //@ pairs_t for unsigned int
#pragma unroll
    for (int e = 0; e < PACK_WIDTH; ++e)
        if (!WIDE && first + e < elements)  //@ pack_wide &&
            pairs |= (line[(first + e) / 2].bits >> e % 2 * 4 & 0xfu) << 4 * e;  //@ half_byte for 0xfu
    return pairs;
}

// As pack_lines. Weights become numbers of the type that they are multiplied by.
template <bool WIDE, typename pair_t, typename packed_t>  //@ pack_wide,,
__device__ __forceinline__ void pack_pairs(const pair_t *from, long long ld, packed_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
{
    const long long chunks = ld_packed / PACK_WIDTH;
#pragma unroll 1  // several turns at once would not fit the registers of every target
    for (long long i = block * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * PACK_WIDTH;
        unsigned int pairs = 0;  //@ pairs_t for unsigned int
        if (line < lines)
            pairs = load_pairs<WIDE>(&from[line * ld], first, elements);  //@ load_pairs for load_pairs<WIDE>
        const auto widened = widen_pairs(pairs);
        store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(widened));
    }
}

