//@ if wide_p
//@ if always_c
//@| const vector_t<output_t, P_VECTOR> before = read<P_VECTOR>(&C[Row * ld_c + Col]);  //@ c_place for C[Row * ld_c + Col]
//@ elif has_beta
//@| vector_t<output_t, P_VECTOR> before = {};
//@| if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
//@|     before = read<P_VECTOR>(&C[Row * ld_c + Col]);  //@ c_place for C[Row * ld_c + Col]
//@ end
//@| vector_t<output_t, P_VECTOR> value;
//@| #pragma unroll
//@| for (int i = 0; i < P_VECTOR; ++i) {
//@ if converts_sum
//@|     float total = sum[r][c + i];  //@ scalar_t for float  //@ first_sum for sum[r][c + i]
//@ if pairs
//@|     float total_beside = beside;  //@ scalar_t for float  //@ second_sum for beside
//@ end
//@ end
//@ if scale_m
//@|     Pvalue *= scale_m[Row];  //@ total for Pvalue  //@ m_scale for scale_m[Row]
//@ if pairs
//@|     beside *= scale_m[Row];  //@ total_beside for beside  //@ m_scale for scale_m[Row]
//@ end
//@ end
//@ if scale_n
//@|     Pvalue *= scale_n[Col + i];  //@ total for Pvalue  //@ n_scale_of_vector for scale_n[Col + i]
//@ if pairs
//@|     beside *= scale_n[Col + i];  //@ total_beside for beside  //@ n_scale_beside_of_vector for scale_n[Col + i]
//@ end
//@ end
//@ if expression
    //@ lines store_value
//@ else
//@ if has_alpha
//@|     Pvalue *= alpha;  //@ total for Pvalue
//@ end
//@ if has_beta
//@|     if (beta != 0)
//@|         Pvalue += beta * before.element[i];  //@ total for Pvalue
//@ end
//@|     value.element[i] = static_cast<output_t>(Pvalue);  //@ total for Pvalue
//@ end
//@| }
//@| reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;  //@ p_place for P[Row * ld_p + Col]
//@ else
//@ if converts_sum
//@| float total = Pvalue;  //@ scalar_t for float
//@ if pairs
//@| float total_beside = beside;  //@ scalar_t for float
//@ end
//@ end
//@ if scale_m
//@| Pvalue *= scale_m[Row];  //@ total for Pvalue  //@ m_scale for scale_m[Row]
//@ if pairs
//@| beside *= scale_m[Row];  //@ total_beside for beside  //@ m_scale for scale_m[Row]
//@ end
//@ end
//@ if scale_n
//@| Pvalue *= scale_n[Col];  //@ total for Pvalue  //@ n_scale for scale_n[Col]
//@ if pairs
//@| beside *= scale_n[Col];  //@ total_beside for beside  //@ n_scale_beside for scale_n[Col]
//@ end
//@ end
//@ if expression
//@ lines store_value
//@ else
//@ if has_alpha
Pvalue *= alpha;  //@ total for Pvalue
//@ end
//@ if has_beta
if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
//@ if p_row_major
    Pvalue += beta * C[Row * ld_c + Col];  //@ total for Pvalue
//@ else
//@|     Pvalue += beta * C[Col * ld_c + Row];  //@ total for Pvalue
//@ end
//@ end
//@ if p_row_major
P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);  //@ total for Pvalue
//@ else
//@| P[Col * ld_p + Row] = static_cast<output_t>(Pvalue);  //@ total for Pvalue
//@ end
//@ end
//@ end
