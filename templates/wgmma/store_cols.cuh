// store: P lies column by column, and a lane has 2 of every 8 columns, in 2 rows. So turn the sums around in shared memory: a warp writes
// SLICE columns of 16 rows, and each lane reads P_VECTOR neighbours of a column at a time.
#pragma unroll
for (int top = 0; top < TM; top += 2)
#pragma unroll
    for (int first = 0; first < TN; first += SLICE / 4) {
        __syncwarp();  // all have taken the last ones
#pragma unroll
        for (int r = top; r < top + 2; ++r)
#pragma unroll
            for (int c = first; c < first + SLICE / 4; ++c)
                in_lines(lines, r % 2 * 8 + lane / 4, (c - first) / 2 * 8 + c % 2 + lane % 4 * 2) = sum[r][c];
        __syncwarp();
#pragma unroll
        for (int r = top; r < top + 2; ++r)
#pragma unroll
            for (int c = first; c < first + SLICE / 4; c += P_VECTOR) {
                const int place = (r % 2 * (SLICE / 4) + c - first) * 32 + lane * P_VECTOR;
                const index_t Row = block_row + warp_row + top * 32 + place % 16;  //@ rows_above for top * 32
                const index_t Col = block_col + first * 4 + place / 16;
                if (Row >= j || Col >= l)  // all P_VECTOR of them, or none  //@ clips_rows || clips_cols  //@ only clips_rows or clips_cols
                    continue;
                const auto taken = read<P_VECTOR>(&in_lines(lines, place % 16, place / 16));
#pragma unroll
                for (int i = 0; i < P_VECTOR; ++i)
                    sum[r][c + i] = taken.element[i];
                sum_t &Pvalue = sum[r][c];  //@ only names_sum
                #include "parts/epilogue.cuh"  //@ finish
            }
    }
