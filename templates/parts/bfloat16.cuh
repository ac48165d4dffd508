// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;

    // Round to nearest, ties to even. A NaN keeps its sign and stays a NaN.
    __device__ explicit bfloat16(float value)
    {
        const unsigned int word = __float_as_uint(value);
        if ((word & 0x7fffffffu) > 0x7f800000u)
            bits = static_cast<unsigned short>((word >> 16) | 0x0040u);
        else
            bits = static_cast<unsigned short>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }

    __device__ operator float() const
    {
        return __uint_as_float(static_cast<unsigned int>(bits) << 16);
    }
};

