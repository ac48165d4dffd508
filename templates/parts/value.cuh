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
