// This block's tile of P begins here.
// One that would reach beyond the edge is moved back over its neighbour, so that no copy needs a check; what both
// compute, the neighbour stores.
#include "simt/moved.cuh"  //@ begin_row
#include "simt/moved.cuh"  //@ begin_col  //@ with col for row, l for j, BN for BM, x for y
