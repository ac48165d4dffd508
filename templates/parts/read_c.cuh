vector_t<output_t, P_VECTOR> before = {};
if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
    before = read<P_VECTOR>(&C[Row * ld_c + Col]);  //@ c_place for C[Row * ld_c + Col]
