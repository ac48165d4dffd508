//@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
#include "parts/scale.cuh"
#include "strip/total.cuh"
#pragma unroll 1
for (int e = threadIdx.x; e < BLOCK_ROWS * COLS; e += THREADS) {  //@ first_element for threadIdx.x  //@ element_step for THREADS
    const index_t Row = block_row + e / COLS;
    const index_t Col = e % COLS;
    if (Row >= j)  //@ only check_j
        break;
    sum_t Pvalue = total_of(e / COLS, e % COLS);
    //@| sum_t beside = total_of(e / COLS, e % COLS + 1);  // of the next column  //@ only takes_pairs
    //@| W[Row * l + Col] = Pvalue;  //@ w_place for Row * l + Col  //@ only splits_k
    #include "parts/epilogue.cuh"  //@ only not splits_k
}
