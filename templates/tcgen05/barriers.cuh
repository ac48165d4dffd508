//@| scales_t scales[STAGES];  // of a phase  //@ only scales_products
//@| barrier_t came[STAGES];  // its tiles have come, and elements may need the signs of their scales  //@ only turns_signs
barrier_t done[2];   // the sums of a tile are made
barrier_t taken[2];  // all warps have read them
unsigned sums;       // the address of the columns of tensor memory that this block has
