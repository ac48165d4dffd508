// Two numbers and two others: 1 * two + more, for both types have this instruction from sm_80 on.
__device__ __forceinline__ unsigned int add_both(unsigned int two, unsigned int more)
{
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(0x3c003c00u), "r"(more));  //@ two_t for f16x2  //@ two_ones for 0x3c003c00u
    return two;
}

