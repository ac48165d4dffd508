// The first row and column of P that this thread computes, in the block's tile.
const int thread_row = warp_row + lane / 4, thread_col = lane % 4 * 2;
