    //@ if has_alpha
    Pvalue *= alpha;
    //@ end
    //@ if has_beta
    if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
        Pvalue += beta * C[Row * ld_c + Col];
    //@ end
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
