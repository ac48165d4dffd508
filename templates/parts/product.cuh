//@ if splits_k
//@ if batched or points
//@| // The product of the batch that this block works on.
//@ end
//@ if m_array
//@| const input_t *M = M_array[blockIdx.z / SPLITS];  //@ m_t for input_t
//@ elif batched
//@| M += blockIdx.z / SPLITS * stride_m;
//@ end
//@ if n_array and not has_groups
//@| const input_t *N = N_array[blockIdx.z / SPLITS];  //@ n_t for input_t
//@ elif batched
//@| N += blockIdx.z / SPLITS * stride_n;
//@ end
//@ if m_scales_k and batched
//@| scale_m += blockIdx.z / SPLITS * stride_scale_m;
//@ end
//@ if n_scales_k and batched
//@| scale_n += blockIdx.z / SPLITS * stride_scale_n;
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
//@ if n_array and not has_groups
//@| const input_t *N = N_array[blockIdx.z];  //@ n_t for input_t
//@ elif batched
N += blockIdx.z * stride_n;
//@ end
//@ if m_scales_k and batched
//@| scale_m += blockIdx.z * stride_scale_m;
//@ end
//@ if n_scales_k and batched
//@| scale_n += blockIdx.z * stride_scale_n;
//@ end
#include "parts/output.cuh"
//@ if batched or points

//@ end
//@ end
