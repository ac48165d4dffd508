//@| #include "parts/scales.cuh"  //@ only scales_ahead
//@ if splits_k
//@| // store: what this block's part of k brings. The second kernel adds it to what the other parts bring.
//@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only not walks
//@ else
// store: the thread's sums, as elements of P.
//@ end
//@ lines reduction_starts
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    if (Row >= j)  //@ only clips_rows
        break;  // rows of a thread only grow
    //@| if (Row < own_row)  //@ only moves_rows
    //@|     continue;
#pragma unroll
    for (int c = 0; c < TN; c += P_VECTOR) {  //@ p_sums for P_VECTOR
        const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
        if (Col >= l)  // all P_VECTOR of them, or none  //@ only clips_cols
            break;
        //@| if (Col < own_col)  // all P_VECTOR of them, or none  //@ only moves_cols
        //@|     continue;
        sum_t &Pvalue = sum[r][c];  //@ only names_sum
        //@| sum_t &beside = sum[r][c + 1];  // of the next column  //@ only names_sum and pairs
        #include "parts/epilogue.cuh"  //@ finish
    }
}
//@| #include "parts/reduce_warp.cuh"  //@ only reduces
