#if __CUDA_ARCH__ < 890
#include "weights/multiply_both.cuh"
#endif
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
#if __CUDA_ARCH__ >= 890
    const unsigned short bytes = __byte_perm(units, 0, neighbour == 0 ? 0x20 : 0x31);
    unsigned int two;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two) : "h"(bytes));
    return two;
#else
    // Its exponent and fraction, in their places, are a half that is 2^8 too small: 7 and 15 are the biases. The largest pattern, a NaN,
    // is the one whose successor has another exponent bit, with which it is a NaN of halves too.
    const unsigned int top = units << (8 - 8 * neighbour), rest = top >> 1 & 0x3f803f80u;
    const unsigned int is_nan = (rest + 0x00800080u) & 0x40004000u;
    return multiply_both((top & 0x80008000u) | rest | is_nan, 0x5c005c00u);
#endif
}
