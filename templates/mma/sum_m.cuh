// The elements of M are added up by a product with ones.
#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const fragment_t ones[2] = {0x3c003c00u, 0x3c003c00u};  //@ two_ones for 0x3c003c00u  //@ two_ones for 0x3c003c00u
    multiply_add(m[step % 2][r], ones, m_sum[2 * r][0], m_sum[2 * r][1], m_sum[2 * r + 1][0], m_sum[2 * r + 1][1]);  //@ m_now for m[step % 2]
}
