// A number as the sum of two of tf32, which hold 22 bits of its parts. It is multiplied by 2^16 first: then the rest of a subnormal number,
// too, is a number of tf32. Of an infinity or NaN, the rest is NaN. Tensor cores cut off the bits of a rest that they cannot hold.
struct split_c64 {
    c64 high, low;

    split_c64() = default;
    __device__ split_c64(c64 value)
    {
        const c64 large = {value.re * 65536, value.im * 65536};
        high = {rounded(large.re), rounded(large.im)};
        low = {large.re - high.re, large.im - high.im};
    }

    __device__ static float rounded(float value)
    {
        return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
    }
};

