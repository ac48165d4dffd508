#pragma unroll
for (int i = 0; i < (BM + SCALERS - 1) / SCALERS; ++i) {
    const index_t kk = phase * BK + word * 4 * SCALE_K;  //@ first_k for phase
    const index_t row = min(block_row + i * SCALERS + own, static_cast<index_t>(j) - 1);  //@ m_end for static_cast<index_t>(j)
    m_words[word][i] = four_scales(&scale_m[row * ld_scale_m + kk / SCALE_K], 1, k - kk);  //@ scales_left for k - kk  //@ m_scale_at for scale_m[row * ld_scale_m + kk / SCALE_K]  //@ m_scale_step for 1
}
