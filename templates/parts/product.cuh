//@ if splits_k
//@ if batched or points
//@| // The product of the batch that this block works on.
//@ end
//@ if m_array
//@| const input_t *M = M_array[blockIdx.z / SPLITS];  //@ m_t for input_t
//@ elif batched
//@| M += blockIdx.z / SPLITS * stride_m;
//@ end
//@ if n_array
//@| const input_t *N = N_array[blockIdx.z / SPLITS];  //@ n_t for input_t
//@ elif batched
//@| N += blockIdx.z / SPLITS * stride_n;
//@ end
//@ if batched or points

//@ end
//@ elif not whole_products
//@ if batched or points
// The product of the batch that this block works on.
//@ end
//@ if m_array
//@| const input_t *M = M_array[blockIdx.z];  //@ m_t for input_t
//@ elif batched
M += blockIdx.z * stride_m;
//@ end
//@ if n_array
//@| const input_t *N = N_array[blockIdx.z];  //@ n_t for input_t
//@ elif batched
N += blockIdx.z * stride_n;
//@ end
//@ if scale_m and batched
//@| scale_m += blockIdx.z * stride_scale_m;
//@ end
//@ if scale_n and batched
//@| scale_n += blockIdx.z * stride_scale_n;
//@ end
//@ if has_beta and c_array
//@| const output_t *C = beta != 0 ? C_array[blockIdx.z] : nullptr;  // beta = 0 must not even look for C
//@ elif has_beta and batched
C += blockIdx.z * stride_c;
//@ end
//@ if p_array
//@| output_t *P = P_array[blockIdx.z];
//@ elif batched
P += blockIdx.z * stride_p;
//@ end
//@ if batched or points

//@ end
//@ end
