#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int i = 0; i < TN; ++i) {
                    const int c = r % 2 * (TN - 1 - 2 * i) + i;  // to and fro: an operand in two neighbouring sums is read once
                    Pvalue[r][c] += m[step % 2][r] * n[step % 2][c];
                }
