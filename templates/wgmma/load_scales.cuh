float m_scales[PARTS][(M_SCALES + 31) / 32];
#pragma unroll
for (int part = 0; part < PARTS; ++part)
#pragma unroll
    for (int i = 0; i < M_SCALES; i += 32) {
        const index_t at = min(block_row + (i + lane) * M_STEP, static_cast<index_t>(j) - 1);  //@ m_scale_at
        const index_t along = kk + part * PART, of_k = along / 128;  //@ m_scale_k for 128
        m_scales[part][i / 32] = scale_m[at * ld_scale_m + of_k];  //@ m_scale_read
    }
