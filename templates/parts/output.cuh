//@ if scale_m and batched
//@| scale_m += blockIdx.z * stride_scale_m;
//@ end
//@ if scale_n and batched
//@| scale_n += blockIdx.z * stride_scale_n;
//@ end
//@ if operands
//@ lines operands_of_product
//@ end
//@ if always_c and c_array
//@| const output_t *C = C_array[blockIdx.z];
//@ elif has_beta and c_array
//@| const output_t *C = beta != 0 ? C_array[blockIdx.z] : nullptr;  // beta = 0 must not even look for C
//@ elif has_beta and batched
C += blockIdx.z * stride_c;
//@ end
//@ if p_map
//@ elif p_array
//@| output_t *P = P_array[blockIdx.z];
//@ elif batched
P += blockIdx.z * stride_p;
//@ end
