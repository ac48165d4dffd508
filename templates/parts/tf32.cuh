// To the nearest number of tf32, whose significand has 11 bits. Without this the tensor cores cut off what they cannot hold.
__device__ __forceinline__ unsigned int round_to_tf32(unsigned int bits)
{
    unsigned int rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

