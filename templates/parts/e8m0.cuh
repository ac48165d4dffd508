// A power of 2 for storage: 8 bits of exponent, and nothing else. 255 is NaN.
struct e8m0 {
    unsigned char bits;

    // 2^-127 is below the normal floats: its bit is the first of the fraction. Infinity and one is a NaN. No choice: ptxas makes a branch
    // of each, and lanes wait for each other.
    __device__ operator float() const
    {
        const unsigned int power = static_cast<unsigned int>(bits) << 23, is_nan = (bits + 1u) >> 8;
        return __uint_as_float(max(power, 0x00400000u) + is_nan);
    }
};

