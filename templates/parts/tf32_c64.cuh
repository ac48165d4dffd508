//@ if splits_c64
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
//@ else
//@| // A complex number whose parts are rounded to tf32. Tensor cores cut off the bits that are left.
//@| struct tf32_c64 {
//@|     float re, im;
//@|
//@|     tf32_c64() = default;
//@|     __device__ tf32_c64(c64 value) : re(rounded(value.re)), im(rounded(value.im)) {}
//@|
//@|     __device__ static float rounded(float value)
//@|     {
//@|         const bool is_finite = fabsf(value) < __int_as_float(0x7f800000);
//@|         return __uint_as_float(__float_as_uint(value) + (is_finite ? 0x1000u : 0u));
//@|     }
//@| };
//@ end

