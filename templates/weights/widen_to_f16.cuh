// Two of the bytes of a word, those that `which` selects, as two halves. 1024 + byte has the byte as its last bits, so one subtraction
// converts both.
__device__ __forceinline__ unsigned int widen_two(unsigned int bytes, unsigned int which)
{
    unsigned int two = __byte_perm(bytes, 0x64646464u, which);
    asm("sub.f16x2 %0, %0, %1;" : "+r"(two) : "r"(0x64806480u));  // 1024 + 128  //@ f16_excess for 0x64806480u));  // 1024 + 128
    return two;
}
