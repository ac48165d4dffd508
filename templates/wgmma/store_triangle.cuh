// store: P is symmetric. A warp finishes 16 rows of SLICE columns in shared memory and stores them twice: lanes take neighbours of a  //@ only stores_twice
// row, and then neighbours of a column, which are a row on the other side of the diagonal.  //@ only stores_twice
//@| // store: a warp finishes 16 rows of SLICE columns in shared memory, and lanes store neighbours of a row as far as the diagonal.  //@ only not stores_twice
#pragma unroll
for (int top = 0; top < TM; top += 2)
#pragma unroll
    for (int first = 0; first < TN; first += SLICE / 4) {
        const index_t box_row = block_row + warp_row + top * 32, box_col = block_col + first * 4;  //@ rows_above for top * 32
        if (box_col > box_row + 15)  //@ slice_beyond_diagonal for box_col > box_row + 15
            continue;
        __syncwarp();  // all have taken the last ones
#pragma unroll
        for (int r = top; r < top + 2; ++r)
#pragma unroll
            for (int c = first; c < first + SLICE / 4; ++c) {
                const int row = r % 2 * 8 + lane / 4, col = (c - first) / 2 * 8 + c % 2 + lane % 4 * 2;
                const index_t Row = box_row + row, Col = box_col + col;
                if (Row >= j || Col >= l || Col > Row) {  //@ clips_rows || clips_cols || symmetric  //@ beyond_diagonal for Col > Row
                    in_box(box, row, col) = output_t{};  // it is not stored, but lanes may load it with its neighbours
                    continue;
                }
                sum_t &Pvalue = sum[r][c];
                #include "parts/epilogue.cuh"
            }
        __syncwarp();
#pragma unroll
        for (int place = lane * P_VECTOR; place < 16 * SLICE; place += 32 * P_VECTOR) {
            const int row = place / SLICE, col = place % SLICE;
            const index_t Row = box_row + row, Col = box_col + col;
            if (Row >= j || Col >= l)  // all P_VECTOR of them, or none  //@ clips_rows || clips_cols  //@ only clips_rows or clips_cols
                continue;
            const index_t begin = 0;  //@ begin_in_row
            const index_t end = Row - Col + 1;  //@ end_in_row
            write_some<P_VECTOR>(&P[Row * ld_p + Col], read<P_VECTOR>(&in_box(box, row, col)), begin, end);
        }
        //@ if stores_twice
#pragma unroll
        for (int place = lane * P_VECTOR; place < 16 * SLICE; place += 32 * P_VECTOR) {
            const int row = place % 16, col = place / 16;
            const index_t Row = box_row + row, Col = box_col + col;
            if (Row >= j || Col >= l)  // all P_VECTOR of them, or none  //@ clips_rows || clips_cols  //@ only clips_rows or clips_cols
                continue;
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i)
                value.element[i] = in_box(box, row + i, col);
            const index_t begin = Col - Row;  //@ begin_in_col
            const index_t end = P_VECTOR;  //@ end_in_col
            write_some<P_VECTOR>(&P[Col * ld_p + Row], value, begin, end);
        }
        //@ end
    }
