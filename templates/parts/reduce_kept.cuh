// reduce: of these rows, warps combine what is kept of each, and threads what is kept of each column.
__syncthreads();
//@| const long long row_slot = block_col / BLOCK_COLS;  //@ only reduces_rows
//@| const long long col_slot = (block_row + top) / ROWS_AT_ONCE;  //@ only reduces_cols
//@ lines rows_found
