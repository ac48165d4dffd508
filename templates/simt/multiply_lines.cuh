// multiply: the products of a step, added to the thread's sums, one element of k after the other.
sum_t sum[TM][TN] = {};
const auto multiply = [&](int step) {
#pragma unroll
    for (int i = 0; i < VEC; ++i)
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                sum[r][c] += m[step % 2][r].element[i] * n[step % 2][c].element[i];
};

