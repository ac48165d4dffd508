//@ if derived_ld_m and not tensor_maps
//@| const index_t ld_m = k;  //@ ld_m
//@ end
//@ if derived_ld_n and not tensor_maps
//@| const index_t ld_n = l;  //@ ld_n
//@ end
//@ if derived_ld_p and not splits_k and not p_map
//@| const index_t ld_p = l;  //@ ld_p
//@ end
//@ if derived_ld_c and not splits_k
//@| const index_t ld_c = l;  //@ ld_c
//@ end
//@ if derived_stride_m and not tensor_maps
//@| const long long stride_m = ld_m * j;  //@ stride_m
//@ end
//@ if derived_stride_n and not tensor_maps
//@| const long long stride_n = ld_n * k;  //@ stride_n
//@ end
//@ if derived_stride_p and not splits_k and not p_map
//@| const long long stride_p = ld_p * j;  //@ stride_p
//@ end
//@ if derived_stride_c and not splits_k
//@| const long long stride_c = ld_c * j;  //@ stride_c
//@ end
//@ if derives

//@ end
