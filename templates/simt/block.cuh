#include "parts/tile_y.cuh"  //@ which_tile
#include "parts/begin.cuh"  //@ begin

//@| #include "parts/part_of_k.cuh"  //@ only splits_k
const index_t phases = (k + BK - 1) / BK;  //@ k_index for k  //@ only not splits_k

// The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,  //@ piece for VEC x VEC
// the next are 4 * VEC rows or 8 * VEC columns further.  //@ rows_further for 4 * VEC  //@ cols_further for 8 * VEC
const int thread = threadIdx.x;
const int lane = thread % 32;
const int warp = thread / 32;  //@ thread_of_tile for thread
const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;  //@ row_lane for lane / 8 * VEC
const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;  //@ col_lane for lane % 8 * VEC
//@| #include "simt/spread_cols.cuh"  //@ spread_cols
