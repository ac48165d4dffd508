// IEEE half precision for storage: 16 bits in memory, a float in registers.
struct half {
    unsigned short bits;

    //@ if self_written
    half() = default;

    // Round to nearest, ties to even.
    __device__ explicit half(float value)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
    //@ end
    //@ if self_read

    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
    //@ end
};

