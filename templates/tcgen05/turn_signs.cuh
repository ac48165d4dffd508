wait(came[stage], turn);
#include "tcgen05/turn_rows.cuh"
#include "tcgen05/turn_rows.cuh"  //@ with n for m, N for M, BN for BM, column for row
