// multiply: one step's products, added to the thread's sums.
sum_t sum[TM][TN] = {};
const auto multiply = [&](int step) {
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int i = 0; i < TN; ++i) {
            // To and fro, so that an operand in two neighbouring sums is read once: column i, TN - 1 - i in odd rows.
            const int c = r % 2 * (TN - 1 - 2 * i) + i;
            sum[r][c] += m[step % 2][r] * n[step % 2][c];  //@ only not complex
            //@| add_product(sum[r][c], m[step % 2][r], n[step % 2][c]);  //@ only complex
        }
};

