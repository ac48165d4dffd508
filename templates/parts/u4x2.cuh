// Two unsigned integers of 4 bits for storage, neighbours of a line: the first in the lower half of a byte.
struct u4x2 {
    unsigned char bits;

    // 2^23 + value has it as its last bits, so one subtraction converts it.
    __device__ float operator[](int half) const
    {
        return __uint_as_float(0x4b000000u | (bits >> 4 * half & 0xfu)) - 8388608.0f;
    }
};

