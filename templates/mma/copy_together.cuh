// copy: the tiles of a phase. What lies outside M and N becomes zero, and is not read.  //@ only clips_copies
//@| // copy: the tiles of a phase.  //@ only not clips_copies
const auto copy = [&](phase_t &into, index_t phase, int piece) {  //@ , checks_phases, spreads_copies
    const index_t k_left = k - phase * BK;  //@ k_steps for k  //@ only checks_phases
    const index_t m_left = k_left - m_first;  //@ m_k_left for k_left  //@ only m_clips_ends and m_along_k
    //@| const index_t m_lines_left = k_left - m_line;  //@ only m_clips_lines and not m_along_k
    const index_t n_lines_left = k_left - n_line;  //@ only n_clips_lines and not n_along_k
    //@| const index_t n_left = k_left - n_first;  //@ n_k_left for k_left  //@ only n_clips_ends and n_along_k
#pragma unroll  //@ m_unroll for unroll
    #include "mma/copy_checked.cuh"  //@ m_copy
#pragma unroll  //@ n_unroll for unroll
    #include "mma/copy_checked.cuh"  //@ n_copy  //@ with n for m, N for M
    m_from += BK;  //@ m_advance for BK
    n_from += BK * ld_n;  //@ n_advance for BK * ld_n
};
