#include "parts/scale.cuh"
#include "strip/total.cuh"
// The rows of the block are finished at once. What the epilogue makes of them is kept after all else.
constexpr int ROWS_AT_ONCE = BLOCK_ROWS, BLOCK_COLS = COLS, top = 0;
constexpr index_t block_col = 0;
const int thread = threadIdx.x;
using kept_t = float[REDUCTIONS][BLOCK_ROWS * COLS];  //@ real_t for float
kept_t &kept = reinterpret_cast<kept_t &>(rings[WARPS]);  //@ behind for rings[WARPS]
float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS
#pragma unroll 1
for (int e = threadIdx.x; e < BLOCK_ROWS * COLS; e += THREADS) {  //@ first_element for threadIdx.x  //@ element_step for THREADS
    const index_t Row = block_row + e / COLS;
    const index_t Col = e % COLS;
    sum_t Pvalue = total_of(e / COLS, e % COLS);
    sum_t beside = total_of(e / COLS, e % COLS + 1);  // of the next column  //@ only takes_pairs
    //@ lines reduction_starts
    if (Row < j && Col < l) {  //@ check_j && check_l
        #include "parts/epilogue.cuh"
    }
    //@ lines element_kept
}
// reduce: warps combine what is kept of each row, and threads what is kept of each column.
__syncthreads();
constexpr long long row_slot = 0;  // a block has all of a row  //@ only reduces_rows
const long long col_slot = block_row / BLOCK_ROWS;  //@ only reduces_cols
//@ lines rows_found
