// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    //@ if self_written
    bfloat16() = default;

    // Round to nearest, ties to even. A NaN stays a NaN.
    __device__ explicit bfloat16(float value)
    {
#if __CUDA_ARCH__ >= 800
        unsigned int pair;  // value is its lower half
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned short>(pair);
#else
        const unsigned int word = __float_as_uint(value);
        if ((word & 0x7fffffffu) > 0x7f800000u)
            bits = static_cast<unsigned short>((word >> 16) | 0x0040u);
        else
            bits = static_cast<unsigned short>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
    }
    //@ end
    //@ if self_read

    // Convert from the packed half; shifting an integer makes ptxas widen every element to a 32-bit register.
    __device__ operator float() const
    {
        float value;
        asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<unsigned short>(0)), "h"(bits));
        return value;
    }
    //@ end
};

