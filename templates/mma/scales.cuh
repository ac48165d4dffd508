// Scales of parts of k: lane i reads those of row or column i of the warp's tile, 32 + i and so on, a phase before they are needed. The
// lanes that need them get them from there.
#include "mma/hold_scales.cuh"  //@ m_hold_scales
#include "mma/hold_scales.cuh"  //@ n_hold_scales  //@ with n for m, N for M, WN for WM
const auto next_scales = [&](index_t phase) {
    #include "mma/read_scales.cuh"  //@ m_read_scales
    #include "mma/read_scales.cuh"  //@ n_read_scales  //@ with n for m, N for M, WN for WM, col for row, cols for rows, l for j
};
//@| #include "mma/turn_zeros.cuh"  //@ m_turn_zeros
//@| #include "mma/turn_zeros.cuh"  //@ n_turn_zeros  //@ with n for m, N for M
