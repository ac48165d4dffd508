//@ if splits_k
//@| // The product of the batch that this block works on.  //@ only batched or points
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
//@| scale_m += blockIdx.z / SPLITS * stride_scale_m;  //@ only m_scales_k and batched
//@| scale_n += blockIdx.z / SPLITS * stride_scale_n;  //@ only n_scales_k and batched
//@ if batched or points

//@ end
//@ elif not whole_products
// The product of the batch that this block works on.  //@ only batched or points
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
//@| scale_m += blockIdx.z * stride_scale_m;  //@ only m_scales_k and batched
//@| scale_n += blockIdx.z * stride_scale_n;  //@ only n_scales_k and batched
#include "parts/output.cuh"
//@ if batched or points

//@ end
//@ end
