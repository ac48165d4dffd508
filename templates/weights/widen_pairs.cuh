// Eight weights of 4 bits as numbers, in their order.
__device__ __forceinline__ vector_t<unsigned int, 4> widen_pairs(unsigned int pairs)
{
    vector_t<unsigned int, 4> numbers;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        const unsigned int pair = pairs >> 8 * e & 0xffu;
        numbers.element[e] = widen_neighbour(pair | pair << 12, 0);
    }
    return numbers;
}

