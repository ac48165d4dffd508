// Elements were multiplied by 2^16. Those that are infinite, NaN, or so large that they then are infinite make sums that are not finite:
// these are computed again, by multiply-adds.
bool is_finite = true;
#pragma unroll
for (int i = 0; i < TM * TN; ++i) {
    c64 &each = sum[i / TN][i % TN];
    each = {each.re * 0x1p-32f, each.im * 0x1p-32f};
    is_finite &= fabsf(each.re) <= 3.402823466e38f && fabsf(each.im) <= 3.402823466e38f;
}
if (!is_finite) {
#pragma unroll 1
    for (int i = 0; i < TM * TN; ++i) {
        const int r = i / TN, c = i % TN;
        const index_t Row = block_row + thread_row + r;  //@ row_of for r
        const index_t Col = block_col + thread_col + c;  //@ col_of for c
        const long long from = Row;  //@ row_of_m for Row
        c64 again = 0;
        if (from >= 0 && Row < j && Col < l)
#pragma unroll 1
            for (index_t kk = 0; kk < k; ++kk)  //@ k_steps for k
                add_product(again, M[from * ld_m + kk], N[kk * ld_n + Col]);  //@ m_again for M[from * ld_m + kk]  //@ n_again for N[kk * ld_n + Col]
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                if (r * TN + c == i)
                    sum[r][c] = again;
    }
}
