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
    //@ if any_ld_p and not splits_k
    //@| long long ld_p,
    //@ end
    //@ if any_ld_c and not splits_k
    //@| long long ld_c,
    //@ end
    //@ if any_stride_m
    //@| long long stride_m,
    //@ end
    //@ if any_stride_n
    //@| long long stride_n,
    //@ end
    //@ if any_stride_p and not splits_k
    //@| long long stride_p,
    //@ end
    //@ if any_stride_c and not splits_k
    //@| long long stride_c,
    //@ end
    //@ if any_batch
    //@| int batch,
    //@ end
    //@ if has_alpha and not splits_k
    sum_t alpha,
    //@ end
    //@ if has_beta and not splits_k
    sum_t beta,
    //@ end
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    //@ if splits_k
    //@| sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product
    //@ else
    //@ if has_beta
    const output_t *C,  // may be P itself
    //@ end
    output_t *P)
    //@ end
