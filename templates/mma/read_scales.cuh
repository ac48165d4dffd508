#pragma unroll
for (int which = 0; which < PARTS; ++which)
#pragma unroll
    for (int i = 0; i < M_SCALES; ++i) {
        const index_t row = block_row + warp_row + (32 * i + lane) % WM, kk = phase * BK + which * PART_K;  //@ m_scale_line for block_row + warp_row + (32 * i + lane) % WM  //@ phase_k for phase * BK
        m_scale[which][i] = m_scale_next[which][i];
        m_scale_next[which][i] = phase < phases && row < j && kk < k ? scale_m[kk / SCALE_K * ld_scale_m + row] : 0.0f;  //@ && clips_rows && check_k  //@ part_inside for kk < k  //@ m_scale_inside for row < j  //@ m_scale_at for scale_m[kk / SCALE_K * ld_scale_m + row]
        //@| #include "mma/read_zeros.cuh"  //@ m_read_zeros
    }
