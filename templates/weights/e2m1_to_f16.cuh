#include "weights/multiply_both.cuh"
// Its exponent and fraction, in their places, are a half that is 2^14 too small: 1 and 15 are the biases.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    const unsigned int signs = units << (12 - 4 * neighbour) & 0x80008000u;
    const unsigned int rest = (neighbour == 3 ? units >> 3 : units << (9 - 4 * neighbour)) & 0x0e000e00u;
    return multiply_both(signs | rest, 0x74007400u);
}
