// Sixteen weights of 4 bits as numbers, in their order.
__device__ __forceinline__ vector_t<unsigned int, 4> widen_pairs(unsigned long long pairs)
{
    vector_t<unsigned int, 4> numbers;
#pragma unroll
    for (int e = 0; e < 4; ++e)
        numbers.element[e] = widen_four(static_cast<unsigned int>(pairs >> 16 * e));
    return numbers;
}

