barrier_t done[2];   // the sums of a tile are made
barrier_t taken[2];  // all warps have read them
unsigned sums;       // the address of the columns of tensor memory that this block has
