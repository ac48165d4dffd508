// COUNT weights. What is not wanted becomes zero, and is not read.
template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights_or_zero(const void *from, bool is_wanted)
{
    vector_t<unsigned int, COUNT / 4> weights = {};
    if (is_wanted)
        weights = *static_cast<const vector_t<unsigned int, COUNT / 4> *>(from);
    return weights;
}

