// 16 bytes of a line from its element `first` on; zero, where they are not there. WIDE: all of them are, or none, and at once.  //@ only pack_wide
//@| // 16 bytes of a line from its element `first` on; zero, where they are not there.  //@ only not pack_wide
template <bool WIDE, typename element_t>  //@ pack_wide,
__device__ __forceinline__ vector_t<element_t, PACK_WIDTH> load_chunk(const element_t *line, long long first, long long elements)
{
    vector_t<element_t, PACK_WIDTH> chunk = {};
    if (WIDE && first < elements)  //@ only pack_wide
        chunk = read<PACK_WIDTH>(&line[first]);
#pragma unroll
    for (int e = 0; e < PACK_WIDTH; ++e)
        if (!WIDE && first + e < elements)  //@ pack_wide &&
            chunk.element[e] = line[first + e];
    //@ if pack_rounds
#pragma unroll
    for (int e = 0; e < PACK_WIDTH; ++e)
        chunk.element[e] = __uint_as_float(round_to_tf32(__float_as_uint(chunk.element[e])));
    //@ end
    return chunk;
}

