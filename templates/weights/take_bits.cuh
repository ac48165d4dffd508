// (two & mask) ^ others, which is one instruction. Written with operators and two constants, ptxas makes two of it.
__device__ __forceinline__ unsigned int take_bits(unsigned int two, unsigned int mask, unsigned int others)
{
    asm("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(two) : "r"(mask), "r"(others));
    return two;
}

