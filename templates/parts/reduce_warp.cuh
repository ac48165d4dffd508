
// reduce: the lanes of a warp that have elements of one row, or column, combine what each has found, and one of them writes it.
float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS
#include "parts/reduce_rows.cuh"  //@ only reduces_rows
#include "parts/reduce_cols.cuh"  //@ only reduces_cols
