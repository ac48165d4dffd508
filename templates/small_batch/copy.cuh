// From global memory into shared memory, as elements of the sum.
template <int COUNT>
__device__ __forceinline__ void copy(sum_t *to, const input_t *from)
{
    const auto as_stored = read<COUNT>(from);
    vector_t<sum_t, COUNT> written;
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        written.element[i] = static_cast<sum_t>(as_stored.element[i]);
    *reinterpret_cast<vector_t<sum_t, COUNT> *>(to) = written;
}

