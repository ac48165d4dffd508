    //@ if any_j
    //@| int j,
    //@ end
    //@ if any_k
    //@| int k,
    //@ end
    //@ if any_l
    //@| int l,
    //@ end
    //@ if any_ld_m
    //@| long long ld_m,
    //@ end
    //@ if any_ld_n
    //@| long long ld_n,
    //@ end
    //@ if any_ld_p
    //@| long long ld_p,
    //@ end
    //@ if any_ld_c
    //@| long long ld_c,
    //@ end
    //@ if any_stride_m
    //@| long long stride_m,
    //@ end
    //@ if any_stride_n
    //@| long long stride_n,
    //@ end
    //@ if any_stride_p
    //@| long long stride_p,
    //@ end
    //@ if any_stride_c
    //@| long long stride_c,
    //@ end
    //@ if has_alpha
    sum_t alpha,
    //@ end
    //@ if has_beta
    sum_t beta,
    //@ end
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    //@ if has_beta
    const output_t *C,  // may be P itself
    //@ end
    output_t *P)
