// COUNT weights that lie in so many bytes.
template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights(const void *from)
{
    return *static_cast<const vector_t<unsigned int, COUNT / 4> *>(from);
}

