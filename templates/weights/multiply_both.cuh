// Two numbers by two others: factors * two - 0, which keeps the sign of a zero.
__device__ __forceinline__ unsigned int multiply_both(unsigned int two, unsigned int factors)
{
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(factors), "r"(0x80008000u));  //@ two_t for f16x2
    return two;
}

