// store: the thread's sums, as elements of P. What it has of a row stays together.
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    if (Row >= j)  //@ only clips_rows
        break;  // rows of a thread only grow
#pragma unroll
    for (int c = 0; c < TN; c += P_VECTOR) {  //@ p_sums for P_VECTOR
        const index_t Col = block_col + thread_col + c;  //@ col_of for c
        if (Col >= l)  // all P_VECTOR of them, or none  //@ only clips_cols
            break;
        sum_t &Pvalue = sum[r][c];  //@ only names_sum
        sum_t &beside = sum[r][c + 1];  // of the next column  //@ only names_sum and pairs
        #include "parts/epilogue.cuh"  //@ epilogue
    }
}
