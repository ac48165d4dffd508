// store: what this block's part of k brings. The second kernel adds it to what the other parts bring.
W += static_cast<long long>(blockIdx.z) * j * l;
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
        //@| #include "simt/skip_col.cuh"  //@ only moves_cols
        #include "parts/partial.cuh"
    }
}
