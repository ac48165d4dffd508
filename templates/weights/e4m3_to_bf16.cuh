#include "weights/multiply_both.cuh"
// Its exponent and fraction, in their places, are a bfloat16 that is 2^120 too small: 7 and 127 are the biases. The largest pattern, a
// NaN, is the one whose successor has another exponent bit; with all of them it is a NaN of bfloat16 too.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    const unsigned int signs = units << (8 - 8 * neighbour) & 0x80008000u;
    const unsigned int rest = (neighbour == 0 ? units << 4 : units >> 4) & 0x07f007f0u;
    const unsigned int is_nan = (rest + 0x00100010u) & 0x08000800u;
    return multiply_both(signs | (rest + 15 * is_nan), 0x7b807b80u);
}
