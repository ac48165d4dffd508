// (two & taken) ^ others, which is one instruction. Written with operators and two constants, ptxas makes two of it.
__device__ __forceinline__ unsigned int take_bits(unsigned int two, unsigned int taken, unsigned int others)
{
    asm("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(two) : "r"(taken), "r"(others));
    return two;
}

