// Two floats of 4 bits for storage, 2 of exponent and 1 of fraction, neighbours of a line: the first in the lower half of a byte.
struct e2m1x2 {
    unsigned char bits;
    //@ if self_written

    e2m1x2() = default;

    __device__ e2m1x2(float first, float second)
    {
        bits = static_cast<unsigned char>(nearest(first) | nearest(second) << 4);
    }

    // Round to nearest, ties to even. What is too large becomes 6, the largest number, and so does a NaN. Below 1, 2^22 is added to the
    // magnitude, in whose last bits it then stands in halves; else its first bit of fraction is the last one.
    static __device__ unsigned int nearest(float value)
    {
        const unsigned int sign = __float_as_uint(value) >> 31 << 3, magnitude = __float_as_uint(value) & 0x7fffffffu;
        const unsigned int small = __float_as_uint(__uint_as_float(magnitude) + 0x1p22f) & 7u;
        const unsigned int large = ((magnitude + 0x1fffffu + (magnitude >> 22 & 1u)) >> 22) - 252u;
        return sign | (magnitude < 0x3f800000u ? small : min(large, 7u));
    }
    //@ end
    //@ if self_read

    // Its exponent and fraction, in their places, are a float that is 2^126 too small: 1 and 127 are the biases.
    __device__ float operator[](int half) const
    {
        const unsigned int number = bits >> 4 * half;
        return __uint_as_float((number & 8u) << 28 | (number & 7u) << 22) * 0x1p126f;
    }
    //@ end
};

