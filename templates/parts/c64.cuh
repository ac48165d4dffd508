// A complex number as cuComplex and NumPy store it: the real part comes first.
struct alignas(2 * sizeof(float)) c64 {
    float re, im;

    c64() = default;
    __device__ c64(float real, float imaginary = 0) : re(real), im(imaginary) {}

    //@ if splits_k or SLICES or has_beta or adds
    __device__ c64 &operator+=(c64 other)
    {
        re += other.re;
        im += other.im;
        return *this;
    }
    //@ end
    //@ if has_alpha
    __device__ c64 &operator*=(c64 factor)
    {
        return *this = {fma(re, factor.re, -im * factor.im), fma(re, factor.im, im * factor.re)};
    }
    //@ end
};
//@ if has_beta

__device__ __forceinline__ c64 operator*(c64 a, c64 b)
{
    return {fma(a.re, b.re, -a.im * b.im), fma(a.re, b.im, a.im * b.re)};
}

__device__ __forceinline__ bool operator!=(c64 a, float real)
{
    return a.re != real || a.im != 0;
}
//@ end

// sum += m * n, in four multiply-adds. A conjugate operand changes only their signs.
__device__ __forceinline__ void add_product(c64 &sum, c64 m, c64 n)
{
    sum.re = fma(m.re, n.re, sum.re);
    sum.im = fma(m.re, n.im, sum.im);  //@ first_re for m.re  //@ first_im for n.im
    sum.re = fma(-m.im, n.im, sum.re);  //@ square for -m.im
    sum.im = fma(m.im, n.re, sum.im);  //@ second_im for m.im  //@ second_re for n.re
}

