#include "parts/multiply_f64.cuh"

// A product of complex fragments is four products of their parts.
__device__ __forceinline__ void multiply_add(const c128 (&of_m)[4], const c128 (&of_n)[2], c128 &sum0, c128 &sum1, c128 &sum2, c128 &sum3)
{
    double m_re[4], m_im[4], minus[4], n_re[2], n_im[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const c128 m = of_m[i];
        m_re[i] = m.re;
        m_im[i] = m.im;  //@ m_im for m.im
        minus[i] = -m_im[i];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const c128 n = of_n[i];
        n_re[i] = n.re;
        n_im[i] = n.im;  //@ n_im for n.im
    }
    multiply_add(m_re, n_re, sum0.re, sum1.re, sum2.re, sum3.re);
    multiply_add(m_re, n_im, sum0.im, sum1.im, sum2.im, sum3.im);
    multiply_add(minus, n_im, sum0.re, sum1.re, sum2.re, sum3.re);
    multiply_add(m_im, n_re, sum0.im, sum1.im, sum2.im, sum3.im);
}
