// widen: integers of 8 bits, the weights, as numbers of the 16 bits that they are multiplied by. Those have every such integer, so
// it is exact.
#include "weights/widen_to_f16.cuh"  //@ widen_two

template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 2> widen(const vector_t<unsigned int, COUNT / 4> &weights)
{
    vector_t<unsigned int, COUNT / 2> numbers;
#pragma unroll
    for (int word = 0; word < COUNT / 4; ++word) {
        const unsigned int bytes = weights.element[word] ^ 0x80808080u;  // each 128 more  //@ widened_word for weights.element[word] ^ 0x80808080u;  // each 128 more
        numbers.element[2 * word] = widen_two(bytes, 0x4140);
        numbers.element[2 * word + 1] = widen_two(bytes, 0x4342);
    }
    return numbers;
}

#include "weights/unpack.cuh"  //@ unpack
#include "weights/load_or_zero.cuh"  //@ weights_loaded
#include "weights/store_widened.cuh"  //@ store_widened
