// Two floats of 4 bits for storage, 2 of exponent and 1 of fraction, neighbours of a line: the first in the lower half of a byte.
struct e2m1x2 {
    unsigned char bits;

    // Its exponent and fraction, in their places, are a float that is 2^126 too small: 1 and 127 are the biases.
    __device__ float operator[](int half) const
    {
        const unsigned int number = bits >> 4 * half;
        return __uint_as_float((number & 8u) << 28 | (number & 7u) << 22) * 0x1p126f;
    }
};

