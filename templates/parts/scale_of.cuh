// The magnitude of a number, as bits, which compare as magnitudes do. A NaN is the largest of all.
__device__ __forceinline__ unsigned int magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

#include "parts/scale_f32.cuh"  //@ scale_function
