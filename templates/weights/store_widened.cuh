// They become COUNT numbers of a tile.
template <int COUNT>
__device__ __forceinline__ void store_widened(void *to, const vector_t<unsigned int, COUNT / 4> &weights)
{
    *static_cast<vector_t<unsigned int, COUNT / 2> *>(to) = widen<COUNT>(weights);
}

