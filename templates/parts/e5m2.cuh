// A float of 8 bits for storage: 5 bits of exponent, 2 of fraction (sm_89 and newer).
struct e5m2 {
    unsigned char bits;

    //@ if self_written
    e5m2() = default;

    // Round to nearest, ties to even. What is too large becomes 57344, the largest number; a NaN stays a NaN.
    __device__ explicit e5m2(float value)
    {
        unsigned short pair;  // value is its lower half
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned char>(pair);
    }
    //@ end
    //@ if self_read

    // It is the upper byte of a half.
    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits << 8)));
        return value;
    }
    //@ end
};

