// COUNT weights that may begin anywhere are loaded one by one. So many are left to read, or more; what is beyond them becomes zero,
// and is not read.
template <int COUNT, typename weight_t>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights_one_by_one(const weight_t *from, index_t left)
{
    vector_t<weight_t, COUNT> weights = {};
#pragma unroll
    for (int e = 0; e < COUNT; ++e)
        if (e < left)
            weights.element[e] = from[e];
    return reinterpret_cast<const vector_t<unsigned int, COUNT / 4> &>(weights);
}

