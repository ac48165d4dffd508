// load: one step's elements for this thread's rows and columns.
sum_t m[2][TM], n[2][TN];
const auto load = [&](const phase_t &from, int step) {
    const int kk = slice * STEPS + step;  //@ only sliced
#pragma unroll
    for (int r = 0; r < TM; r += VEC) {  //@ row_vec for VEC
        const auto value = read<VEC>(&from.M[kk][thread_row + r / VEC * (4 * VEC)]);  //@ kk for kk  //@ row_vec for VEC  //@ row_at for thread_row + r / VEC * (4 * VEC)
#pragma unroll
        for (int i = 0; i < VEC; ++i)  //@ row_vec for VEC
            m[step % 2][r + i] = value.element[i];
    }
#pragma unroll
    for (int c = 0; c < TN; c += VEC) {  //@ col_vec for VEC
        const auto value = read<VEC>(&from.N[kk][thread_col + c / VEC * (8 * VEC)]);  //@ kk for kk  //@ col_vec for VEC  //@ col_at for thread_col + c / VEC * (8 * VEC)
#pragma unroll
        for (int i = 0; i < VEC; ++i)  //@ col_vec for VEC
            n[step % 2][c + i] = value.element[i];
    }
};

