//@ if wide_p
//@ if has_beta
//@| vector_t<output_t, P_VECTOR> before = {};
//@| if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
//@|     before = read<P_VECTOR>(&C[Row * ld_c + Col]);
//@ end
//@| vector_t<output_t, P_VECTOR> value;
//@| #pragma unroll
//@| for (int i = 0; i < P_VECTOR; ++i) {
//@ if has_alpha
//@|     sum[r][c + i] *= alpha;
//@ end
//@ if has_beta
//@|     if (beta != 0)
//@|         sum[r][c + i] += beta * before.element[i];
//@ end
//@|     value.element[i] = static_cast<output_t>(sum[r][c + i]);
//@| }
//@| reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
//@ else
//@ if has_alpha
Pvalue *= alpha;
//@ end
//@ if has_beta
if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
//@ if p_row_major
    Pvalue += beta * C[Row * ld_c + Col];
//@ else
//@|     Pvalue += beta * C[Col * ld_c + Row];
//@ end
//@ end
//@ if p_row_major
P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
//@ else
//@| P[Col * ld_p + Row] = static_cast<output_t>(Pvalue);
//@ end
//@ end
