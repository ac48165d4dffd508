#include "parts/rows_of_all_groups.cuh"
if (Row < row_at(offsets, 0, P_ROWS) || Row >= last)  //@ offset_rows for offsets
    return;
