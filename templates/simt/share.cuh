// This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
#include "simt/share_along.cuh"  //@ m_share
#include "simt/share_across.cuh"  //@ n_share  //@ with n for m, N for M, col for row, COLS for ROWS, BN for BM
//@| #include "simt/spread_place.cuh"  //@ only spreads_cols
const index_t rows_left = j - block_row - m_row;  //@ only clips_rows
const index_t cols_left = l - block_col - n_col;  //@ only clips_cols
//@ if check_k

// The first phase takes what is no multiple of BK, so that all others are whole.
const index_t first_steps = (k - 1) % BK + 1;  //@ k_steps for k
//@ end
