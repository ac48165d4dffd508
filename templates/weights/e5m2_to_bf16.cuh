#include "weights/multiply_both.cuh"
// Its exponent and fraction, in their places, are a bfloat16 that is 2^112 too small: 15 and 127 are the biases. The largest exponent,
// of infinity and NaN, is the one whose successor has another bit; with all of them it is infinity or NaN of bfloat16 too.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    const unsigned int signs = units << (8 - 8 * neighbour) & 0x80008000u;
    const unsigned int rest = (neighbour == 0 ? units << 5 : units >> 3) & 0x0fe00fe0u;
    const unsigned int is_last = (rest + 0x00800080u) & 0x10001000u;
    return multiply_both(signs | (rest + 7 * is_last), 0x77807780u);
}
