// A whole number of at most 2048, twice in 16 bits each.
__device__ __forceinline__ unsigned int both(float number)
{
    unsigned int two;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(two) : "f"(number));
    return two;
}

