// The elements of N are added up by a product with ones.
#pragma unroll
for (int c = 0; c < WN / 8; ++c) {
    const int col = 2 * c, next = col + 1;  //@ col_of_product for 2 * c  //@ next_of_product for col + 1;
    const fragment_t ones[4] = {0x3c003c00u, 0x3c003c00u, 0x3c003c00u, 0x3c003c00u};  //@ two_ones for 0x3c003c00u  //@ two_ones for 0x3c003c00u  //@ two_ones for 0x3c003c00u  //@ two_ones for 0x3c003c00u
    multiply_add(ones, n[step % 2][c], n_sum[0][col], n_sum[0][next], n_sum[1][col], n_sum[1][next]);  //@ n_now for n[step % 2]
}
