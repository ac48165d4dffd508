#include "parts/half.cuh"  //@ first_part
#include "parts/bfloat16.cuh"  //@ second_part
#include "parts/e4m3.cuh"  //@ third_part
#include "parts/e5m2.cuh"  //@ fourth_part
#include "parts/s8.cuh"  //@ fifth_part
#include "parts/u8.cuh"  //@ sixth_part
#include "parts/s32.cuh"  //@ seventh_part
//@ if not mixed
using input_t = float;  //@ input_t
//@ end
using output_t = float;  //@ output_t
using sum_t = float;  //@ sum_t
//@ if int_fits
using index_t = int;
//@ else
//@| using index_t = long long;  // an offset may pass the largest int
//@ end

//@ if fixed_j
constexpr index_t j = 512;  //@ j
//@ end
//@ if fixed_all_rows
//@| constexpr index_t all_rows = 512;  // of M and P, in all groups  //@ all_rows
//@ end
//@ if fixed_k
constexpr index_t k = 300;  //@ k
//@ end
//@ if fixed_l
constexpr index_t l = 700;  //@ l
//@ end
//@ if fixed_ld_m
constexpr index_t ld_m = k;  //@ ld_m
//@ end
//@ if fixed_ld_n
constexpr index_t ld_n = l;  //@ ld_n
//@ end
//@ if fixed_ld_p
constexpr index_t ld_p = l;  //@ ld_p
//@ end
//@ if fixed_ld_c
constexpr index_t ld_c = l;  //@ ld_c
//@ end
//@ if fixed_stride_m
constexpr long long stride_m = 512 * 300;  //@ stride_m
//@ end
//@ if fixed_stride_n
constexpr long long stride_n = 300 * 700;  //@ stride_n
//@ end
//@ if fixed_stride_p
constexpr long long stride_p = 512 * 700;  //@ stride_p
//@ end
//@ if fixed_stride_c
constexpr long long stride_c = 512 * 700;  //@ stride_c
//@ end
//@ if m_scales_k or n_scales_k
//@| constexpr int SCALE_K = 64;  // elements of k that each scale of the weights is for  //@ scale_k
//@ end
#include "parts/functions.cuh"  //@ only expression
#include "parts/reduction.cuh"  //@ only reduces
