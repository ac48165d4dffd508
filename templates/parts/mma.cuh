// Products of small matrices by the tensor cores: a warp multiplies 16 rows of M by 8 columns of N, K_STEP elements deep, and adds
// the product to 16 x 8 sums. Each lane holds a part of each of the three, a fragment. Of lane 4 g + t:
//
//                                              columns of N
//                                                   g
//                          chunk 0             +---------+
//                                            t |  n[0]   |
//    rows        chunk 0     chunk 1           +---------+
//    of M           t           t      chunk 1 |         |
//             +-----------+-----------+      t |  n[1]   |
//           g |   m[0]    |   m[2]    |        +---------+
//             +-----------+-----------+          2t  2t+1
//       g + 8 |   m[1]    |   m[3]    |      g  sum  sum
//             +-----------+-----------+  g + 8  sum  sum
//
//@| // A chunk is 4 elements along k, of which lane t holds the one numbered t.  //@ only mma_f64
// A chunk is 16 bytes along k, of which lane t holds the 4 bytes numbered t.  //@ only not mma_f64
//@| using fragment_t = double;  //@ only mma_f64
using fragment_t = unsigned int;  //@ only not mma_f64

//@ if loads_matrices
// Four matrices of 8 lines of 16 bytes each. Lane i says where line i % 8 of matrix i / 8 begins; lane 4 g + t receives the 4 bytes
// numbered t of line g of each.
__device__ __forceinline__ void load_matrices(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

//@ end
//@ if transposes_matrices
// The same, transposed in units of 2 bytes: lane 4 g + t receives those numbered g of lines 2 t and 2 t + 1.
__device__ __forceinline__ void load_transposed(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

//@ end
//@ if transposes_bytes
//@| // Elements of one byte that are neighbours across k. A unit of 2 bytes holds two neighbours of one step of k, so the lines are
//@| // taken in such an order that a lane receives two neighbours at 4 successive steps, from two matrices: to[0] becomes the first
//@| // neighbour's 4 steps, to[1] the second's. lane 4 g + t has neighbours 2 g and 2 g + 1, and to[2], to[3] are 16 steps further.
//@| __device__ __forceinline__ int line_of_bytes(int lane)
//@| {
//@|     return lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2;
//@| }

//@| __device__ __forceinline__ void load_bytes(fragment_t (&to)[4], const void *line)
//@| {
//@|     fragment_t pairs[4];
//@|     load_transposed(pairs, line);
//@|     to[0] = __byte_perm(pairs[0], pairs[1], 0x6420);
//@|     to[1] = __byte_perm(pairs[0], pairs[1], 0x7531);
//@|     to[2] = __byte_perm(pairs[2], pairs[3], 0x6420);
//@|     to[3] = __byte_perm(pairs[2], pairs[3], 0x7531);
//@| }

//@ end
#include "parts/tf32.cuh"  //@ only mma_tf32
//@ if mma_f64
//@| __device__ __forceinline__ void multiply_add(const double (&m)[4], const double (&n)[2], double &sum0, double &sum1, double &sum2, double &sum3)
//@| {
//@| #if __CUDA_ARCH__ >= 900
//@|     asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
//@|                  : "+d"(sum0), "+d"(sum1), "+d"(sum2), "+d"(sum3)
//@|                  : "d"(m[0]), "d"(m[1]), "d"(m[2]), "d"(m[3]), "d"(n[0]), "d"(n[1]));
//@| #else
//@| #pragma unroll
//@|     for (int chunk = 0; chunk < 2; ++chunk) {
//@|         asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
//@|                      : "+d"(sum0), "+d"(sum1)
//@|                      : "d"(m[2 * chunk]), "d"(n[chunk]));
//@|         asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
//@|                      : "+d"(sum2), "+d"(sum3)
//@|                      : "d"(m[2 * chunk + 1]), "d"(n[chunk]));
//@|     }
//@| #endif
//@| }
//@ elif mma_planes
//@| // Of planes of f16 or of bf16.
//@| template <bool ARE_BF16>
//@| __device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
//@| {
//@|     if constexpr (ARE_BF16)
//@|         asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
//@|                      : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
//@|                      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
//@|     else
//@|         asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
//@|                      : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
//@|                      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
//@| }
//@ else
__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
//@| #if __CUDA_ARCH__ >= 800  //@ only mma_by_chunks
    asm volatile("mma.sync.aligned.m16n8k16.row.col"  //@ mma_shape for m16n8k16
                 ".f32"  //@ mma_sum for f32
                 ".bf16"  //@ mma_m for bf16
                 ".bf16"  //@ mma_n for bf16
                 ".f32 "  //@ mma_sum for f32
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),  //@ sum_register for f
                   "+f"(sum1),  //@ sum_register for f
                   "+f"(sum2),  //@ sum_register for f
                   "+f"(sum3)  //@ sum_register for f
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
//@ if mma_by_chunks
//@| #else
//@| #pragma unroll
//@|     for (int chunk = 0; chunk < 2; ++chunk) {
//@ if mma_integers
//@|         asm volatile("mma.sync.aligned.m8n8k16.row.col"
//@|                      ".s32"
//@|                      ".s8"  //@ mma_m for s8
//@|                      ".s8"  //@ mma_n for s8
//@|                      ".s32 "
//@|                      "{%0, %1}, {%2}, {%3}, {%0, %1};"
//@|                      : "+r"(sum0), "+r"(sum1)
//@|                      : "r"(m[2 * chunk]), "r"(n[chunk]));
//@|         asm volatile("mma.sync.aligned.m8n8k16.row.col"
//@|                      ".s32"
//@|                      ".s8"  //@ mma_m for s8
//@|                      ".s8"  //@ mma_n for s8
//@|                      ".s32 "
//@|                      "{%0, %1}, {%2}, {%3}, {%0, %1};"
//@|                      : "+r"(sum2), "+r"(sum3)
//@|                      : "r"(m[2 * chunk + 1]), "r"(n[chunk]));
//@ else
//@|         asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
//@|                      : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
//@|                      : "r"(m[2 * chunk]), "r"(m[2 * chunk + 1]), "r"(n[chunk]));
//@ end
//@|     }
//@| #endif
//@ end
}
//@ end

