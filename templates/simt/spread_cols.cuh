// Rows of P are not aligned, so a store takes one element of each lane, and lanes side by side should store neighbours.
// So of P, and of N in global memory, a thread's columns come COL_RUN at a time, the next are 8 * COL_RUN further.
constexpr int COL_RUN = 1;
const int first_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * COL_RUN;
