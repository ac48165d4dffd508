// store: P is symmetric. A warpgroup finishes a square of SLICE x SLICE elements, and lays it in shared memory twice, the second time turned
// around. The copy engine stores both. A square on the diagonal becomes whole in one box.
#pragma unroll
for (int top = 0; top < TM; top += 2)
#pragma unroll
    for (int first = 0; first < TN; first += SLICE / 4) {
        const index_t box_row = block_row + group_row + top * 32, box_col = block_col + first * 4;
        if (box_col > box_row)  //@ slice_beyond_diagonal for box_col > box_row
            continue;
        const int own = warp % 4 * 16;  // the first row of this warp in the square
        unsigned pairs[2][SLICE / 8];  // of neighbours in a row
#pragma unroll
        for (int c = first; c < first + SLICE / 4; c += 2)
#pragma unroll
            for (int r = top; r < top + 2; ++r) {
                const index_t Row = box_row + own + r % 2 * 8 + lane / 4;  //@ row_of_square for box_row + own + r % 2 * 8 + lane / 4  //@ only names_row or has_beta
                const index_t Col = box_col + (c - first) * 4 + lane % 4 * 2;  //@ col_of_square for box_col + (c - first) * 4 + lane % 4 * 2  //@ only names_col or has_beta
                #include "parts/epilogue.cuh"  //@ epilogue
            }
        const int line = lane % 8, below = own + lane / 8 % 2 * 8, beside = lane / 16 * 8;  // the lane's line of four matrices of 8 x 8
        output_t *box = take_box();
        if (box_row != box_col) {
#pragma unroll
            for (int pair = 0; pair < SLICE / 8; pair += 2)
                lay_lines(&in_box(box, below + line, pair * 8 + beside), pairs, pair);
            store_square(box, box_row, box_col, product);  //@ , , , batched
            box = take_box();
#pragma unroll
            for (int pair = 0; pair < SLICE / 8; pair += 2)
                lay_turned(&in_box(box, pair * 8 + beside + line, below), pairs, pair);
            store_square(box, box_col, box_row, product);  //@ , , , batched
            continue;
        }
        unsigned corner[2][2] = {};  // the warp's 16 x 16 elements on the diagonal
#pragma unroll
        for (int pair = 0; pair < SLICE / 8; pair += 2) {
            if (pair * 8 < own) {  //@ before_diagonal for pair * 8 < own
                lay_lines(&in_box(box, below + line, pair * 8 + beside), pairs, pair);
                lay_turned(&in_box(box, pair * 8 + beside + line, below), pairs, pair);
            }
            if (pair * 8 == own)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    corner[i % 2][i / 2] = pairs[i % 2][pair + i / 2];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int row = own + i % 2 * 8 + lane / 4, col = own + i / 4 * 8 + lane % 4 * 2 + i / 2 % 2;
            if (col <= row)  //@ in_triangle for col <= row
                in_box(box, row, col) = in_box(box, col, row) = reinterpret_cast<output_t(&)[2]>(corner[i % 2][i / 4])[i / 2 % 2];
        }
        store_square(box, box_row, box_col, product);  //@ , , , batched
    }
