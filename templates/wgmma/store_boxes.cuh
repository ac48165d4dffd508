// store: a warp finishes its sums and lays them in a box of shared memory, 16 rows of SLICE columns at a time. The copy engine
// stores the boxes, without what lies outside P, while the warp goes on.
#pragma unroll
for (int top = 0; top < TM; top += 2)
#pragma unroll
    for (int first = 0; first < TN; first += SLICE / 4) {
        const index_t box_row = block_row + warp_row + top * 32, box_col = block_col + first * 4;  //@ rows_above for top * 32
        const index_t read_row = min(box_row, j - 16);  // a box outside P takes the operands of the last one inside  //@ row_end for j  //@ only names_row and clips_boxes_of_rows
        const index_t read_col = min(box_col, l - SLICE);  // a box outside P takes the operands of the last one inside  //@ col_end for l  //@ only names_col and clips_boxes_of_cols
        output_t *const box = boxes[next_box];
        if (lane == 0)
            wait_until_stored<BOXES - 1>();  // the box's last content
        __syncwarp();
#pragma unroll
        for (int c = first; c < first + SLICE / 4; c += 2) {  //@ box_sums for 2
            const int col = (c - first) * 4 + lane % 4 * 2;  // in the box  //@ col_in_box
            const index_t Col = min(box_col + col, l - 2);  // what lies outside P takes the operands of its last columns  //@ box_sums for 2  //@ col_end for l  //@ only names_col and clips_pairs
            const index_t Col = box_col + col;  //@ read_col for box_col  //@ only names_col and not clips_pairs
#pragma unroll
            for (int r = top; r < top + 2; ++r) {
                const int row = r % 2 * 8 + lane / 4;
                const index_t Row = min(box_row + row, j - 1);  // what lies outside P takes the operands of its last row  //@ row_end for j  //@ only names_row and clips_each_row
                const index_t Row = box_row + row;  //@ read_row for box_row  //@ only names_row and not clips_each_row
                const bool inside = box_row + row < j && box_col + col < l;  //@ clips_rows && clips_cols  //@ inside_row for box_row + row  //@ inside_col for box_col + col  //@ only guards_outputs
                #include "parts/epilogue.cuh"  //@ epilogue
            }
        }
        publish_stores();
        __syncwarp();
        if (lane == 0)
            store_box(P_map, box, box_col, box_row, product);  //@ box_first for box_col  //@ box_second for box_row  //@ , , , , batched
        next_box = (next_box + 1) % BOXES;
    }
