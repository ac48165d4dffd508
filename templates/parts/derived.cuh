    //@ if derived_ld_m
    //@| const index_t ld_m = k;  //@ ld_m
    //@ end
    //@ if derived_ld_n
    //@| const index_t ld_n = l;  //@ ld_n
    //@ end
    //@ if derived_ld_p
    //@| const index_t ld_p = l;  //@ ld_p
    //@ end
    //@ if derived_ld_c
    //@| const index_t ld_c = l;  //@ ld_c
    //@ end
    //@ if derived_stride_m
    //@| const long long stride_m = ld_m * j;  //@ stride_m
    //@ end
    //@ if derived_stride_n
    //@| const long long stride_n = ld_n * k;  //@ stride_n
    //@ end
    //@ if derived_stride_p
    //@| const long long stride_p = ld_p * j;  //@ stride_p
    //@ end
    //@ if derived_stride_c
    //@| const long long stride_c = ld_c * j;  //@ stride_c
    //@ end
    //@ if derives

    //@ end
    //@ if batched and splits_k
    //@| // The product of the batch that this block works on.
    //@| M += blockIdx.z / SPLITS * stride_m;
    //@| N += blockIdx.z / SPLITS * stride_n;

    //@ elif batched and not whole_products
    // The product of the batch that this block works on.
    M += blockIdx.z * stride_m;
    N += blockIdx.z * stride_n;
    //@ if has_beta
    C += blockIdx.z * stride_c;
    //@ end
    P += blockIdx.z * stride_p;

    //@ end
