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
        //@ if has_beta
        output_vector_t before = {};
        if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
            before = reinterpret_cast<const output_vector_t &>(C[Row * ld_c + Col]);
        //@ end
        output_vector_t value;
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
            //@ if has_alpha
            Pvalue[r][c + i] *= alpha;
            //@ end
            //@ if has_beta
            if (beta != 0)
                Pvalue[r][c + i] += beta * static_cast<sum_t>(before.element[i]);
            //@ end
            value.element[i] = static_cast<output_t>(Pvalue[r][c + i]);
        }
        reinterpret_cast<output_vector_t &>(P[Row * ld_p + Col]) = value;
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
    //@ if has_alpha
    //@|     Pvalue[r][c] *= alpha;
    //@ end
    //@ if has_beta
    //@|     if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
    //@|         Pvalue[r][c] += beta * static_cast<sum_t>(C[Row * ld_c + Col]);
    //@ end
    //@|     P[Row * ld_p + Col] = static_cast<output_t>(Pvalue[r][c]);
    //@| }
    //@ end
}
