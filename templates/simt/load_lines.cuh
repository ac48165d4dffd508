// load: VEC elements along k of each of this thread's rows and columns.
vector_t<sum_t, VEC> m[2][TM], n[2][TN];
const auto load = [&](const phase_t &from, int step) {
#pragma unroll
    for (int r = 0; r < TM; ++r)
        m[step % 2][r] = read<VEC>(&from.M[thread_row + 4 * r][step * VEC]);
#pragma unroll
    for (int c = 0; c < TN; ++c)
        n[step % 2][c] = read<VEC>(&from.N[thread_col + 8 * c][step * VEC]);
};

