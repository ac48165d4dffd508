float m_scales[(M_SCALES + LINES - 1) / LINES];
#pragma unroll
for (int i = 0; i < M_SCALES; i += LINES) {
    const index_t at = min(block_row + (i + line) * M_STEP, static_cast<index_t>(j) - 1);  //@ m_scale_at
    const index_t of_k = along / 128;  //@ m_scale_k for 128
    m_scales[i / LINES] = scale_m[at * ld_scale_m + of_k];  //@ m_scale_read
}
