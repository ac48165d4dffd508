#include "parts/multiply_f64.cuh"  //@ multiply_parts

using number_t = double;
using factor_t = c128;

// A product of complex fragments is four products of their parts.
__device__ __forceinline__ void multiply_add(const factor_t (&of_m)[4], const factor_t (&of_n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    number_t m_re[4], m_im[4], minus[4], n_re[2], n_im[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const factor_t m = of_m[i];
        m_re[i] = m.re;
        m_im[i] = m.im;  //@ m_im for m.im
        minus[i] = -m_im[i];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const factor_t n = of_n[i];
        n_re[i] = n.re;
        n_im[i] = n.im;  //@ n_im for n.im
    }
    multiply_add(m_re, n_re, sum0.re, sum1.re, sum2.re, sum3.re);
    multiply_add(m_re, n_im, sum0.im, sum1.im, sum2.im, sum3.im);
    multiply_add(minus, n_im, sum0.re, sum1.re, sum2.re, sum3.re);
    multiply_add(m_im, n_re, sum0.im, sum1.im, sum2.im, sum3.im);
}
//@| #include "parts/multiply_split.cuh"  //@ multiply_split
