__syncthreads();
for (int half = SLICES / 2; half > 0; half /= 2) {
    for (int e = thread; e < half * OUTPUTS; e += THREADS)
        shared.partial[e / OUTPUTS][e % OUTPUTS] += shared.partial[half + e / OUTPUTS][e % OUTPUTS];
    __syncthreads();
}
for (int e = thread; e < OUTPUTS; e += THREADS) {  //@ first_element for thread  //@ element_step for THREADS
    const index_t Row = block_row + top + e / BLOCK_COLS;
    const index_t Col = block_col + e % BLOCK_COLS;
    sum_t Pvalue = shared.partial[0][e];
    //@| sum_t beside = shared.partial[0][e + 1];  // of the next column  //@ only takes_pairs
    //@| #include "parts/keep_element.cuh"  //@ only reduces
    #include "parts/store_element.cuh"  //@ only not reduces
}
//@| #include "parts/reduce_kept.cuh"  //@ only reduces
