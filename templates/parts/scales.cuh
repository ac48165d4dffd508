#include "parts/scale.cuh"
//@ if scales_rows_ahead or scales_cols_ahead
//@| // Scales of this thread's rows and columns: each is read once, and all are on their way together.
//@ end
//@ if scales_rows_ahead
//@| float row_scale[TM];
//@| #pragma unroll
//@| for (int r = 0; r < TM; ++r) {
//@|     const index_t Row = block_row + thread_row + r;  //@ row_of for r
//@ if clips_rows
//@|     row_scale[r] = Row < j ? scale_m[Row] : 0;
//@ else
//@|     row_scale[r] = scale_m[Row];
//@ end
//@| }
//@ end
//@ if scales_cols_ahead
//@| float col_scale[TN];
//@| #pragma unroll
//@| for (int c = 0; c < TN; ++c) {
//@|     const index_t Col = block_col + thread_col + c;  //@ col_of for c  //@ first_col for thread_col
//@ if clips_cols
//@|     col_scale[c] = Col < l ? scale_n[Col] : 0;
//@ else
//@|     col_scale[c] = scale_n[Col];
//@ end
//@| }
//@ end
//@ if scale_m_ahead or scale_n_ahead or scales_rows_ahead or scales_cols_ahead

//@ end
