// What this block's part of k brings: the second kernel adds it to what the other parts bring.
W += static_cast<long long>(blockIdx.z) * j * l;
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
    //@ if vector_p
#pragma unroll
    for (int c = 0; c < TN; c += VEC) {
        const index_t Col = block_col + thread_col + c / VEC * (8 * VEC);
        //@ if clips_cols
        if (Col >= l)  // l is a multiple of VEC: all of them, or none
            break;
        //@ end
        //@ if moves_cols
        //@| if (Col < own_col)  // all of them, or none
        //@|     continue;
        //@ end
        sum_vector_t value;
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            value.element[i] = Pvalue[r][c + i];
        reinterpret_cast<sum_vector_t &>(W[Row * l + Col]) = value;
    }
    //@ else
    //@| #pragma unroll
    //@| for (int c = 0; c < TN; ++c) {
    //@ if spreads_cols
    //@|     const index_t Col = block_col + first_col + c / COL_RUN * (8 * COL_RUN) + c % COL_RUN;
    //@ else
    //@|     const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
    //@ end
    //@ if clips_cols
    //@|     if (Col >= l)
    //@|         break;
    //@ end
    //@ if moves_cols
    //@|     if (Col < own_col)
    //@|         continue;
    //@ end
    //@|     W[Row * l + Col] = Pvalue[r][c];
    //@| }
    //@ end
}
