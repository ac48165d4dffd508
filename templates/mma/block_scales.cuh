// Block scales, by which tensor cores multiply: a lane reads four neighbours along k at once, of a row and column of each 32 of the
// warp's tile, a phase before they are needed.
constexpr int SCALES_OF_STEP = 1;  // of a row
constexpr int SCALE_WORDS = 1;  // of a row in a phase, of four scales each
#include "mma/hold_words.cuh"  //@ m_hold_words
#include "mma/hold_words.cuh"  //@ n_hold_words  //@ with n for m, N for M, WN for WM, column for row
//@| #include "mma/hold_signs.cuh"  //@ hold_signs
const auto next_scales = [&](index_t phase) {
    #include "mma/read_words.cuh"  //@ m_read_words
    #include "mma/read_words.cuh"  //@ n_read_words  //@ with n for m, N for M, WN for WM, col for row, cols for rows, l for j
    //@| #include "mma/find_signs.cuh"  //@ find_signs
};

