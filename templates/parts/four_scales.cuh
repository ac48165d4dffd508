
// Read four scales of a row, neighbours along k, as a word. left: elements of k from the first on; scales beyond them are the smallest.
__device__ __forceinline__ unsigned int four_scales(const void *first, index_t step, index_t left)
{
    const unsigned char *const scale = static_cast<const unsigned char *>(first);
    unsigned int four = 0;
    if (step == 1 && left > 3 * SCALE_K && reinterpret_cast<size_t>(first) % 4 == 0)
        return *static_cast<const unsigned int *>(first);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (i * SCALE_K < left)
            four |= static_cast<unsigned int>(scale[i * step]) << 8 * i;
    return four;
}
