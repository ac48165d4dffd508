const auto copy_m = [&](phase_t &into, index_t phase) {  //@ , checks_phases
    const index_t k_left = k - phase * BK;  //@ k_steps for k  //@ only m_clips_ends and m_along_k or m_clips_lines and not m_along_k
    const index_t m_left = k_left - m_first;  //@ m_k_left for k_left  //@ only m_clips_ends and m_along_k
    //@| const index_t m_lines_left = k_left - m_line;  //@ only m_clips_lines and not m_along_k
#pragma unroll  //@ m_unroll for unroll
    #include "mma/copy_checked.cuh"  //@ m_copy
    m_from += BK;  //@ m_advance for BK
};
