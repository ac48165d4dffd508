output_t boxes[MULTIPLIERS][BOXES][SLICE * SLICE];  // what each warpgroup stores of P
