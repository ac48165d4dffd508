// store: two values of a thread at once, which share a byte of P.
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
    if (Row >= j)  //@ only clips_rows
        break;  // rows of a thread only grow
#pragma unroll
    for (int c = 0; c < TN; c += 2) {
        const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
        if (Col >= l)  // both of them, or none  //@ only clips_cols
            break;
        P[Row * ld_p + Col / 2] = output_t(sum[r][c], sum[r][c + 1]);
    }
}
