#pragma unroll
for (int word = 0; word < SCALE_WORDS; ++word)
#pragma unroll
    for (int i = 0; i < M_SCALES; ++i) {
        const index_t row = block_row + warp_row + (32 * i + m_scale_lane) % WM, kk = phase * BK + word * 4 * SCALE_K;  //@ m_scale_line for block_row + warp_row + (32 * i + m_scale_lane) % WM  //@ phase_k for phase * BK
        m_scale[word][i] = m_scale_next[word][i];
        m_scale_next[word][i] = phase < phases && row < j ? four_scales(&scale_m[kk / SCALE_K * ld_scale_m + row], m_scale_step, k - kk) : 0u;  //@ && clips_rows  //@ m_scale_inside for row < j  //@ m_scale_at for scale_m[kk / SCALE_K * ld_scale_m + row]  //@ scales_left for k - kk
    }
