#include "weights/multiply_both.cuh"
// Its exponent and fraction, in their places, are a bfloat16 that is 2^126 too small: 1 and 127 are the biases. Its scale makes up for that.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    const unsigned int signs = units << (12 - 4 * neighbour) & 0x80008000u;
    return signs | ((neighbour < 2 ? units << (6 - 4 * neighbour) : units >> (4 * neighbour - 6)) & 0x01c001c0u);
}

// Products with such weights shall be 2^3 too small: so bfloat16 has the factor, 2^(bits - 4), of scales up to 2^4, of LARGEST bits.
// Larger ones multiply in two steps. 255 is NaN.
constexpr unsigned int LARGEST = 131, TIMES_POWER = 0x00800080u, PLUS_POWER = 0x3d803d80u;

__device__ __forceinline__ unsigned int multiply_in_steps(unsigned int two, unsigned int bits)
{
    const unsigned int first = min(bits, LARGEST), second = bits - first;
    two = multiply_both(two, first * TIMES_POWER + PLUS_POWER);
    return multiply_both(two, bits == 255 ? 0x7fc07fc0u : second * TIMES_POWER + 0x3f803f80u);
}
