// Neighbouring elements, as one instruction takes them.
template <typename element_t, int COUNT>
struct alignas(COUNT * sizeof(element_t)) vector_t {
    element_t element[COUNT];
};

template <int COUNT, typename element_t>
__device__ __forceinline__ vector_t<element_t, COUNT> read(const element_t *from)
{
    return *reinterpret_cast<const vector_t<element_t, COUNT> *>(from);
}

