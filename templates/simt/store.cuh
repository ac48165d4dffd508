//@ if splits_k
//@| // store: what this block's part of k brings. The second kernel adds it to what the other parts bring.
//@| W += static_cast<long long>(blockIdx.z) * j * l;
//@ else
// store: the thread's sums, as elements of P.
//@ end
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r / VEC * (4 * VEC) + r % VEC;
    //@ if clips_rows
    if (Row >= j)
        break;  // rows of a thread only grow
    //@ end
    //@ if moves_rows
    //@| if (Row < own_row)
    //@|     continue;
    //@ end
#pragma unroll
    for (int c = 0; c < TN; c += P_VECTOR) {
        //@ if spreads_cols
        //@| const index_t Col = block_col + first_col + c / COL_RUN * (8 * COL_RUN) + c % COL_RUN;
        //@ else
        const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
        //@ end
        //@ if clips_cols
        if (Col >= l)  // all P_VECTOR of them, or none
            break;
        //@ end
        //@ if moves_cols
        //@| if (Col < own_col)  // all P_VECTOR of them, or none
        //@|     continue;
        //@ end
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
        //@ end
        #include "parts/epilogue.cuh"  //@ include
        //@ end
    }
}
