// A float of 8 bits for storage: 4 bits of exponent, 3 of fraction, no infinity (sm_89 and newer).
struct e4m3 {
    unsigned char bits;

    //@ if self_written
    e4m3() = default;

    // Round to nearest, ties to even. What is too large becomes 448, the largest number; a NaN stays a NaN.
    __device__ explicit e4m3(float value)
    {
        unsigned short pair;  // value is its lower half
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned char>(pair);
    }
    //@ end
    //@ if self_read

    //@ if widens_weights
    //@| // Its exponent and fraction, in their places, are a float that is 2^120 too small: 7 and 127 are the biases. So older devices read
    //@| // it too.
    //@| __device__ operator float() const
    //@| {
    //@|     const unsigned int rest = bits & 0x7fu;
    //@|     return __uint_as_float(rest == 0x7f ? 0x7fffffffu : (bits & 0x80u) << 24 | rest << 20) * 0x1p120f;
    //@| }
    //@ else
    __device__ operator float() const
    {
        unsigned int pair;  // of halves
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(bits)));
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair)));
        return value;
    }
    //@ end
    //@ end
};

