// A complex number whose parts are rounded to tf32. Tensor cores cut off the bits that are left.
struct tf32_c64 {
    float re, im;

    tf32_c64() = default;
    __device__ tf32_c64(c64 value) : re(rounded(value.re)), im(rounded(value.im)) {}

    __device__ static float rounded(float value)
    {
        const bool is_finite = fabsf(value) < __int_as_float(0x7f800000);
        return __uint_as_float(__float_as_uint(value) + (is_finite ? 0x1000u : 0u));
    }
};

