// Writes those of COUNT neighbours from number `begin` on and before `end`.
template <int COUNT>
__device__ __forceinline__ void write_some(output_t *to, const vector_t<output_t, COUNT> &value, index_t begin, index_t end)
{
    if (begin <= 0 && end >= COUNT) {
        reinterpret_cast<vector_t<output_t, COUNT> &>(*to) = value;
        return;
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        if (i >= begin && i < end)
            to[i] = value.element[i];
}
