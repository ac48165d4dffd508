//@ lines scaled_sum
//@ instead store_value
Pvalue *= alpha;  //@ total for Pvalue  //@ only has_alpha
if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet  //@ only has_beta
    Pvalue += beta * C[Row * ld_c + Col];  //@ add_c for Pvalue += beta * C[Row * ld_c + Col]
//@| #include "parts/hermitian.cuh"  //@ hermitian
//@ if scatters_p
//@| const long long to = scattered(p_index, Row, p_rows);  // the row of P
//@| if (to >= 0)
//@|     P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);  //@ p_value for Pvalue  //@ p_place for P[Row * ld_p + Col]
//@ else
P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);  //@ p_value for Pvalue  //@ p_place for P[Row * ld_p + Col]
//@ end
//@ end
