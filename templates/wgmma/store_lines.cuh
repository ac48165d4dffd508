// store: the accumulator layout (2 of every 8 columns in 2 rows) would give short stores, so transpose through shared memory: a warp
// writes 16 rows of SLICE columns, and each lane reads P_VECTOR neighbours of a row at a time.
#pragma unroll
for (int top = 0; top < TM; top += 2)
#pragma unroll
    for (int first = 0; first < TN; first += SLICE / 4) {
        __syncwarp();  // all have taken the last ones
#pragma unroll
        for (int r = top; r < top + 2; ++r)
#pragma unroll
            for (int c = first; c < first + SLICE / 4; c += 2) {
                const vector_t<sum_t, 2> pair = {sum[r][c], sum[r][c + 1]};
                reinterpret_cast<vector_t<sum_t, 2> &>(in_lines(lines, r % 2 * 8 + lane / 4, (c - first) * 4 + lane % 4 * 2)) = pair;
            }
        __syncwarp();
#pragma unroll
        for (int r = top; r < top + 2; ++r)
#pragma unroll
            for (int c = first; c < first + SLICE / 4; c += P_VECTOR) {  //@ p_sums for P_VECTOR
                const int place = (r % 2 * (SLICE / 4) + c - first) * 32 + lane * P_VECTOR;  //@ p_sums for P_VECTOR
                const index_t Row = block_row + warp_row + top * 32 + place / SLICE;  //@ rows_above for top * 32
                const index_t Col = block_col + first * 4 + place % SLICE;
                if (Row >= j || Col >= l)  // all P_VECTOR of them, or none  //@ clips_rows || clips_cols  //@ only clips_rows or clips_cols
                    continue;
                const auto taken = read<P_VECTOR>(&in_lines(lines, place / SLICE, place % SLICE));  //@ p_sums for P_VECTOR
#pragma unroll
                for (int i = 0; i < P_VECTOR; ++i)  //@ p_sums for P_VECTOR
                    sum[r][c + i] = taken.element[i];
                sum_t &Pvalue = sum[r][c];  //@ only names_sum
                //@| sum_t &beside = sum[r][c + 1];  // of the next column  //@ only names_sum and pairs
                #include "parts/epilogue.cuh"  //@ finish
            }
    }
