
// Tensor cores truncate their sums. So they add up only the products of one step, of which those of the low planes come first; they are
// added to the sums in f32. That of both low planes is left out.
__device__ __forceinline__ void multiply_add(const split_c64 (&of_m)[4], const split_c64 (&of_n)[2], c64 &sum0, c64 &sum1, c64 &sum2, c64 &sum3)
{
    c64 m_high[4], m_low[4], n_high[2], n_low[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        m_high[i] = of_m[i].high;
        m_low[i] = of_m[i].low;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        n_high[i] = of_n[i].high;
        n_low[i] = of_n[i].low;
    }
    c64 part[4] = {};
    multiply_add(m_low, n_high, part[0], part[1], part[2], part[3]);
    multiply_add(m_high, n_low, part[0], part[1], part[2], part[3]);
    multiply_add(m_high, n_high, part[0], part[1], part[2], part[3]);
    sum0 += part[0];
    sum1 += part[1];
    sum2 += part[2];
    sum3 += part[3];
}
