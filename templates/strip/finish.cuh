//@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
#include "parts/scale.cuh"
// What all warps have of an element of the block: it is in one share, which one lane has.
const auto total_of = [&](int row, int col) {
    const int place = row / ROW_LANES * TN + col % TN;
    const int owner = (col / TN * ROW_LANES + row % ROW_LANES) * K_LANES + place / SHARE;
    sum_t total = sum_of(0, place % SHARE, owner);
#pragma unroll
    for (int other = 1; other < WARPS; ++other)
        total += sum_of(other, place % SHARE, owner);
    return total;
};
//@ if reduces
//@| // The rows of the block are finished at once. What the epilogue makes of them is kept behind all else.
//@| constexpr int ROWS_AT_ONCE = BLOCK_ROWS, BLOCK_COLS = COLS, top = 0;
//@| constexpr index_t block_col = 0;
//@| const int thread = threadIdx.x;
//@| using kept_t = float[REDUCTIONS][BLOCK_ROWS * COLS];  //@ real_t for float
//@| kept_t &kept = reinterpret_cast<kept_t &>(rings[WARPS]);  //@ behind for rings[WARPS]
//@| float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ only batched
//@| float *const results = W;  //@ real_t for float  //@ only not batched
//@ end
#pragma unroll 1
//@ if pairs and not splits_k
//@| for (int e = 2 * threadIdx.x; e < BLOCK_ROWS * COLS; e += 2 * THREADS) {
//@ else
for (int e = threadIdx.x; e < BLOCK_ROWS * COLS; e += THREADS) {
//@ end
    const index_t Row = block_row + e / COLS;
    const index_t Col = e % COLS;
    if (Row >= j)  //@ only check_j and not reduces
        break;
    sum_t Pvalue = total_of(e / COLS, e % COLS);
    //@| sum_t beside = total_of(e / COLS, e % COLS + 1);  // of the next column  //@ only pairs and not splits_k
    //@ if reduces
    //@ lines reduction_starts
    //@ if check_j
    //@| if (Row < j) {
    //@ else
    //@| {
    //@ end
    //@|     #include "parts/epilogue.cuh"
    //@| }
    //@ lines element_kept
    //@ elif splits_k and p_row_major
    //@| W[Row * l + Col] = Pvalue;
    //@ elif splits_k
    //@| W[Col * j + Row] = Pvalue;
    //@ else
    #include "parts/epilogue.cuh"
    //@ end
}
//@ if reduces
//@| // reduce: warps combine what is kept of each row, and threads what is kept of each column.
//@| __syncthreads();
//@| constexpr long long row_slot = 0;  // a block has all of a row  //@ only reduces_rows
//@| const long long col_slot = block_row / BLOCK_ROWS;  //@ only reduces_cols
//@ lines rows_found
//@ end
