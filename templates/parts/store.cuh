//@| #include "parts/scales.cuh"  //@ only scales_ahead
//@ if splits_k
//@| // store: what this block's part of k brings. The second kernel adds it to what the other parts bring.
//@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only not walks
//@ else
// store: the thread's sums, as elements of P.
//@ end
//@ if reduces
//@ lines reduction_starts
//@ end
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
        //@ if splits_k and vector_p
        //@| vector_t<sum_t, P_VECTOR> value;
//@| #pragma unroll
        //@| for (int i = 0; i < P_VECTOR; ++i)
        //@|     value.element[i] = sum[r][c + i];
        //@| reinterpret_cast<vector_t<sum_t, P_VECTOR> &>(W[Row * l + Col]) = value;
        //@ elif splits_k
        //@| W[Row * l + Col] = sum[r][c];
        //@ else
        //@ if not wide_p
        sum_t &Pvalue = sum[r][c];
        //@| sum_t &beside = sum[r][c + 1];  // of the next column  //@ only pairs
        //@ end
        #include "parts/epilogue.cuh"  //@ epilogue
        //@ end
    }
}
//@| #include "parts/reduce_warp.cuh"  //@ only reduces
