//@ lines scaled_sum
//@ instead store_value
Pvalue *= alpha;  //@ total for Pvalue  //@ only has_alpha
if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet  //@ only has_beta
    Pvalue += beta * C[Row * ld_c + Col];  //@ total for Pvalue  //@ c_place for C[Row * ld_c + Col]
P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);  //@ p_value for Pvalue  //@ p_place for P[Row * ld_p + Col]
//@ end
