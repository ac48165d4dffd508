// `lines` of so many elements, ld apart, become lines_packed lines, ld_packed apart. What is added is zero. block: the number of this
// one, where it matters that M and N, if both are packed, keep different blocks busy.
// Weights become numbers of the type that they are multiplied by.
template <bool WIDE, typename element_t, typename packed_t>  //@ pack_wide,,
__device__ __forceinline__ void pack_lines(const element_t *from, long long ld, packed_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
{
    const long long chunks = ld_packed / PACK_WIDTH;
#pragma unroll 1  // several turns at once would not fit the registers of every target
    for (long long i = block * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * PACK_WIDTH;
        vector_t<element_t, PACK_WIDTH> chunk = {};
        if (line < lines)
            chunk = load_chunk<WIDE>(&from[line * ld], first, elements);  //@ load_chunk for load_chunk<WIDE>
        if constexpr (sizeof(element_t) < sizeof(packed_t)) {
            const auto widened = widen<PACK_WIDTH>(reinterpret_cast<const vector_t<unsigned int, PACK_WIDTH / 4> &>(chunk));
            store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(widened));
        } else {
            store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(chunk));
        }
    }
}

