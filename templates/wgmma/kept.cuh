// Of the 16 bytes of a chunk, those from number `begin` on and before `end` are kept; others become zero.
struct kept_t {
    unsigned bits[4];

    __device__ __forceinline__ kept_t(int begin, int end)
    {
#pragma unroll
        for (int w = 0; w < 4; ++w)
            bits[w] = first_bytes(end - 4 * w) & ~first_bytes(begin - 4 * w);
    }

    __device__ __forceinline__ static unsigned first_bytes(int count)
    {
        return count <= 0 ? 0 : count >= 4 ? ~0U : (1U << 8 * count) - 1;
    }

    __device__ __forceinline__ void clear_others(unsigned at) const
    {
        chunk_t chunk = {};
        if ((bits[0] & bits[1] & bits[2] & bits[3]) == ~0U)
            return;
        if ((bits[0] | bits[1] | bits[2] | bits[3]) != 0)
            chunk = take_chunk(at);
        put_chunk(at, chunk.element[0] & bits[0], chunk.element[1] & bits[1], chunk.element[2] & bits[2], chunk.element[3] & bits[3]);
    }
};

