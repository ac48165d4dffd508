output_t boxes[4 * MULTIPLIERS][16 * SLICE];  // what each warp stores of P  //@ storers for 4 * MULTIPLIERS
