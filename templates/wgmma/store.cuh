//@ if reduces
//@ lines reduction_starts
//@ end
//@ if p_map
//@| // store: a warp finishes its sums and lays them in a box of shared memory, 16 rows of SLICE columns at a time. The copy engine
//@| // stores the boxes, without what lies outside P, while the warp goes on.
//@| #pragma unroll
//@| for (int top = 0; top < TM; top += 2)
//@| #pragma unroll
//@|     for (int first = 0; first < TN; first += SLICE / 4) {
//@|         const index_t box_row = block_row + warp_row + top * 32, box_col = block_col + first * 4;
//@ if names_row and clips_boxes_of_rows
//@|         const index_t read_row = min(box_row, j - 16);  // a box outside P takes the operands of the last one inside  //@ row_end for j
//@ end
//@ if names_col and clips_boxes_of_cols
//@|         const index_t read_col = min(box_col, l - SLICE);  // a box outside P takes the operands of the last one inside  //@ col_end for l
//@ end
//@|         output_t *const box = boxes[next_box];
//@|         if (lane == 0)
//@|             wait_until_stored<BOXES - 1>();  // the box's last content
//@|         __syncwarp();
//@| #pragma unroll
//@|         for (int c = first; c < first + SLICE / 4; c += 2) {
//@|             const int col = (c - first) * 4 + lane % 4 * 2;  // in the box
//@ if names_col and clips_pairs
//@|             const index_t Col = min(box_col + col, l - 2);  // what lies outside P takes the operands of its last columns  //@ col_end for l
//@ elif names_col
//@|             const index_t Col = box_col + col;  //@ read_col for box_col
//@ end
//@| #pragma unroll
//@|             for (int r = top; r < top + 2; ++r) {
//@|                 const int row = r % 2 * 8 + lane / 4;
//@ if names_row and clips_each_row
//@|                 const index_t Row = min(box_row + row, j - 1);  // what lies outside P takes the operands of its last row  //@ row_end for j
//@ elif names_row
//@|                 const index_t Row = box_row + row;  //@ read_row for box_row
//@ end
//@ if guards_outputs
//@|                 const bool inside = box_row + row < j && box_col + col < l;  //@ clips_rows && clips_cols  //@ inside_row for box_row + row  //@ inside_col for box_col + col
//@ end
//@|                 #include "parts/epilogue.cuh"  //@ epilogue
//@|             }
//@|         }
//@|         publish_stores();
//@|         __syncwarp();
//@|         if (lane == 0)
//@|             store_box(P_map, box, box_col, box_row, blockIdx.z);  //@ box_first for box_col  //@ , , , , batched
//@|         next_box = (next_box + 1) % BOXES;
//@|     }
//@ elif reduces
//@| // store: the thread's sums, as elements of P. What it has of a row stays together.
//@| #pragma unroll
//@| for (int r = 0; r < TM; ++r) {
//@|     const index_t Row = block_row + thread_row + r;  //@ row_of for r
//@ if clips_rows
//@|     if (Row >= j)
//@|         break;  // rows of a thread only grow
//@ end
//@| #pragma unroll
//@|     for (int c = 0; c < TN; c += P_VECTOR) {  //@ p_sums for P_VECTOR
//@|         const index_t Col = block_col + thread_col + c;  //@ col_of for c
//@ if clips_cols
//@|         if (Col >= l)  // all P_VECTOR of them, or none
//@|             break;
//@ end
//@ if not wide_p
//@|         sum_t &Pvalue = sum[r][c];
//@ if pairs
//@|         sum_t &beside = sum[r][c + 1];  // of the next column
//@ end
//@ end
//@|         #include "parts/epilogue.cuh"  //@ epilogue
//@|     }
//@| }
//@ else
// store: what a lane has, two columns of every eight in two rows, would make short stores. So a warp lays 16 rows of SLICE columns in
// shared memory, and its lanes take up as many sums as they gave: P_VECTOR neighbours of a row each time.
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
                const index_t Row = block_row + warp_row + top * 32 + place / SLICE;
                const index_t Col = block_col + first * 4 + place % SLICE;
                //@ if clips_rows or clips_cols
                if (Row >= j || Col >= l)  // all P_VECTOR of them, or none  //@ clips_rows || clips_cols
                    continue;
                //@ end
                const auto taken = read<P_VECTOR>(&in_lines(lines, place / SLICE, place % SLICE));  //@ p_sums for P_VECTOR
#pragma unroll
                for (int i = 0; i < P_VECTOR; ++i)  //@ p_sums for P_VECTOR
                    sum[r][c + i] = taken.element[i];
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
                //@ if pairs
                //@| sum_t &beside = sum[r][c + 1];  // of the next column
                //@ end
                //@ end
                #include "parts/epilogue.cuh"  //@ epilogue
                //@ end
            }
    }
//@ end
//@ if reduces
//@| #include "parts/reduce_warp.cuh"
//@ end
