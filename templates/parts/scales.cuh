#include "parts/scale.cuh"
// Scales of this thread's rows and columns: each is read once, and all are on their way together.  //@ only scales_rows_ahead or scales_cols_ahead
#include "parts/scales_rows.cuh"  //@ only scales_rows_ahead
#include "parts/scales_rows.cuh"  //@ with n for m, TN for TM, l for j, c for r, col for row, cols for rows, Col for Row  //@ only scales_cols_ahead

