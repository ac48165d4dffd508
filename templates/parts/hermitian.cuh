if (Row == Col)
    Pvalue.im = 0;  // the diagonal of a Hermitian P is real
//@| P[Col * ld_p + Row] = {Pvalue.re, -Pvalue.im};  //@ only stores_twice
