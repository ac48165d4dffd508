#pragma unroll
for (int i = 0; i < K_THREAD; i += RUN)
#pragma unroll
    for (int c = 0; c < TN; ++c) {
        const index_t kk = phase + k_of(i);
        const index_t col = block_col + col_of(c);
        n_scale_next[i / RUN][c] = kk < k && col < l ? scale_n[kk / SCALE_K * ld_scale_n + col] : 0.0f;  //@ check_k && check_l  //@ k_end for k
    }
