// The two parts of a complex number are shuffled, and added, on their own.
__device__ __forceinline__ sum_t operator+(sum_t a, sum_t b)
{
    return {a.re + b.re, a.im + b.im};
}

__device__ __forceinline__ sum_t __shfl_xor_sync(unsigned int lanes, sum_t value, int distance)
{
    return {__shfl_xor_sync(lanes, value.re, distance), __shfl_xor_sync(lanes, value.im, distance)};
}

