//@| #include "parts/scales.cuh"  //@ scales_ahead
// store: the thread's sums, as elements of P.
//@ lines reduction_starts
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    if (Row >= j)  //@ only clips_rows
        break;  // rows of a thread only grow
    //@| #include "simt/skip_row.cuh"  //@ only moves_rows
#pragma unroll
    for (int c = 0; c < TN; c += P_VECTOR) {  //@ p_sums for P_VECTOR
        const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
        if (Col >= l)  // all P_VECTOR of them, or none  //@ only clips_cols
            break;
        //@| #include "simt/skip_col.cuh"  //@ only moves_cols or symmetric
        #include "parts/sum_of_one.cuh"  //@ sum_of_element
        #include "parts/epilogue.cuh"  //@ epilogue
    }
}
//@| #include "parts/reduce_warp.cuh"  //@ only reduces
