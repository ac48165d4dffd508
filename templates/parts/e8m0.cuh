// A power of 2 for storage: 8 bits of exponent, and nothing else. 255 is NaN.
struct e8m0 {
    unsigned char bits;

    // 2^-127 is below the normal floats: its bit is the first of the fraction.
    __device__ operator float() const
    {
        return __uint_as_float(bits == 255 ? 0x7fc00000u : bits == 0 ? 0x00400000u : bits << 23);
    }
};

