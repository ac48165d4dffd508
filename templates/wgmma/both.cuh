__device__ __forceinline__ unsigned int both(float value)
{
    unsigned int two;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(two) : "f"(value));  //@ two_t for f16x2
    return two;
}

