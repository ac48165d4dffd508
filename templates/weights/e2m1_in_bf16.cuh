#include "weights/multiply_both.cuh"
#include "weights/e2m1_places.cuh"  //@ e2m1_places

// Products with such weights shall be 2^3 too small: so bfloat16 has the factor, 2^(bits - 4), of scales up to 2^4, of LARGEST bits.
// Larger ones multiply in two steps. 255 is NaN.
constexpr unsigned int LARGEST = 131, TIMES_POWER = 0x00800080u, PLUS_POWER = 0x3d803d80u;

__device__ __forceinline__ unsigned int multiply_in_steps(unsigned int two, unsigned int bits)
{
    const unsigned int first = min(bits, LARGEST), second = bits - first;
    two = multiply_both(two, first * TIMES_POWER + PLUS_POWER);
    return multiply_both(two, bits == 255 ? 0x7fc07fc0u : second * TIMES_POWER + 0x3f803f80u);
}
