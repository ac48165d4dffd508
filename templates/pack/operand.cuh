constexpr long long from_ld_m = 300;
constexpr long long m_lines = 512;  // of the packed M
constexpr long long from_stride_m = 0;
//@| if (blockIdx.z == 0)  // the products share one M  //@ only shares_m
//@|     pack_lines(tile, M, from_ld_m, M_packed, ld_m, m_lines, j, k, blockIdx.x);  //@ pack_m for pack_lines  //@ transposes_m,,,,,,,,  //@ from_lines_m for j  //@ from_line_m for k  //@ first_of_m for blockIdx.x
transpose_lines<true>(tile, M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (m_lines * ld_m), ld_m, m_lines, j, k, blockIdx.x);  //@ pack_m for transpose_lines<true>  //@ transposes_m,,,,,,,,  //@ from_lines_m for j  //@ from_line_m for k  //@ first_of_m for blockIdx.x  //@ only not shares_m
