template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 2> widen(const vector_t<unsigned int, COUNT / 4> &weights)
{
    vector_t<unsigned int, COUNT / 2> numbers;
#pragma unroll
    for (int word = 0; word < COUNT / 4; ++word) {
        numbers.element[2 * word] = widen_neighbour(__byte_perm(weights.element[word], 0, 0x1100), 0);
        numbers.element[2 * word + 1] = widen_neighbour(__byte_perm(weights.element[word], 0, 0x3322), 0);
    }
    return numbers;
}

