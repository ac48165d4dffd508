#include "parts/half.cuh"  //@ first_part  //@ with first for self
#include "parts/bfloat16.cuh"  //@ second_part  //@ with second for self
#include "parts/e4m3.cuh"  //@ third_part  //@ with third for self
#include "parts/e5m2.cuh"  //@ fourth_part  //@ with fourth for self
#include "parts/s8.cuh"  //@ fifth_part  //@ with fifth for self
#include "parts/u8.cuh"  //@ sixth_part  //@ with sixth for self
#include "parts/s32.cuh"  //@ seventh_part  //@ with seventh for self
//@| #include "parts/s4x2.cuh"  //@ eighth_part  //@ with eighth for self
//@| #include "parts/s4x2.cuh"  //@ ninth_part  //@ with ninth for self
#include "parts/e8m0.cuh"  //@ tenth_part  //@ with tenth for self
using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;  //@ only int_fits
//@| using index_t = long long;  // an offset may pass the largest int  //@ only not int_fits

constexpr index_t j = 512;
constexpr index_t all_rows = 512;  // of M and P, in all groups
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr index_t ld_c = l;
constexpr long long stride_m = 512 * 300;
constexpr long long stride_n = 300 * 700;
constexpr long long stride_p = 512 * 700;
constexpr long long stride_c = 512 * 700;
constexpr int SCALE_K = 64;  // elements of k in a part that has scales of its own
//@| #include "parts/quantized.cuh"  //@ quantized
#include "parts/functions.cuh"  //@ functions
#include "parts/reduction.cuh"  //@ only reduces
