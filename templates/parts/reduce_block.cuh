// What the thread knows of its row and its column. One that hangs over the edge of P knows nothing.
//@ lines reduction_starts
sum_t beside = __shfl_xor_sync(~0u, Pvalue, 1);  // the sum of the next column, which the next thread has  //@ only pairs
if (Row < j && Col < l && Col % 2 == 0) {  //@ check_j && check_l && pairs
    #include "parts/epilogue.cuh"
}

// reduce: the first row of threads combines the elements of the block's rows, and of its columns.
__shared__ float values[TILE_WIDTH][TILE_WIDTH + 1];  // + 1: a column of it lies in different banks  //@ real_t for float
float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS
//@ lines block_found
