#pragma unroll
for (int c = 0; c < TN; ++c)
    n_sum[0][c] = n_sum[1][c] = 0;
