const vector_t<output_t, P_VECTOR> before = read<P_VECTOR>(&C[Row * ld_c + Col]);  //@ c_place for C[Row * ld_c + Col]
