//@ if any_j
//@| int j,
//@ end
//@ if any_all_rows
//@| int all_rows,
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
//@ if any_ld_p and not splits_k and not p_map
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
//@ if any_stride_p and not splits_k and not p_map
//@| long long stride_p,
//@ end
//@ if any_stride_c and not splits_k
//@| long long stride_c,
//@ end
//@ if m_scales_k
//@| long long ld_scale_m,
//@ end
//@ if n_scales_k
//@| long long ld_scale_n,
//@ end
//@ if scale_m and batched and not splits_k or m_scales_k and batched
//@| long long stride_scale_m,
//@ end
//@ if scale_n and batched and not splits_k or scale_n and many_groups or n_scales_k and batched or n_scales_k and many_groups
//@| long long stride_scale_n,
//@ end
//@ if any_batch
//@| int batch,
//@ end
//@ if has_alpha and not splits_k
sum_t alpha,  //@ scalar_t for sum_t
//@ end
//@ if has_beta and not always_c and not splits_k
sum_t beta,  //@ scalar_t for sum_t
//@ end
//@ if scale_m and not splits_k or m_scales_k
//@| const float *__restrict__ scale_m,
//@ end
//@ if scale_n and not splits_k or n_scales_k
//@| const float *__restrict__ scale_n,
//@ end
//@ if operands and not splits_k
//@ lines operand_parameters
//@ end
//@ if reduces_by_team
//@ lines result_parameters
//@ end
//@ if has_groups and offsets_by_value
//@| const __grid_constant__ offsets_t offsets,
//@ elif has_groups
//@| const offset_t *__restrict__ offsets,
//@ end
//@ if m_array
//@| const input_t *const *M_array,  // where the M of each product lies  //@ m_t for input_t
//@ elif not tensor_maps
const input_t *__restrict__ M,  //@ m_t for input_t
//@ end
//@ if n_array
//@| const input_t *const *N_array,  // where the N of each product lies  //@ n_t for input_t
//@ elif not tensor_maps
const input_t *__restrict__ N,  //@ n_t for input_t
//@ end
//@ if splits_k
//@| sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product
//@ else
//@ if reduces and not reduces_by_team
//@| float *__restrict__ W,  // what is found of rows and columns: see RESULTS  //@ real_t for float
//@ end
//@ if has_beta and c_array
//@| const output_t *const *C_array,  // where the C of each product lies; each may be that product's P
//@ elif has_beta
const output_t *C,  // may be P itself
//@ end
//@ if p_map
//@| const __grid_constant__ tensor_map_t P_map)
//@ elif p_array
//@| output_t *const *P_array)  // where the P of each product lies
//@ else
output_t *P)
//@ end
//@ end
