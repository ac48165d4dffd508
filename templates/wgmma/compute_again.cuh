// Planes of infinities are NaN, and large numbers overflow in them: a sum that is finite had none of them.
bool is_finite = true;
#pragma unroll
for (int r = 0; r < TM; ++r)
#pragma unroll
    for (int c = 0; c < TN; ++c)
        is_finite &= (__float_as_uint(sum[r][c]) & 0x7f800000) != 0x7f800000;
if (!is_finite) {
    const index_t first = 0;  //@ exact_begin for 0
    const index_t end = min(static_cast<index_t>(k), first + phases * BK);
#pragma unroll 1
    for (int i = 0; i < TM * TN; ++i) {
        const int r = i / TN, c = i % TN;
        const index_t Row = block_row + warp_row + lane / 4 + r / 2 * 64 + r % 2 * 8;
        const index_t Col = block_col + lane % 4 * 2 + c / 2 * 8 + c % 2;
        float again = 0;
        if (Row < j && Col < l)
#pragma unroll 1
            for (index_t kk = first; kk < end; ++kk)
                again += M[Row * ld_m + kk] * static_cast<float>(N[kk * ld_n + Col]);  //@ exact_n for N[kk * ld_n + Col]  //@ exact_m for M[Row * ld_m + kk]
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                sum[r][c] = r * TN + c == i ? again : sum[r][c];
    }
}
