//@| #include "parts/four_scales.cuh"  //@ only scales_parts

constexpr unsigned int ONES = 0x7f7f7f7fu;  // four scales of 1

// Tensor cores multiply by scales, too: row g + 8 i of M has its scales in m_scales of lane 4 g + 2 m_thread + i, column g of N in
// n_scales of lane 4 g + n_thread, from this byte on.
__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], unsigned int m_scales, int m_thread, unsigned int n_scales, int n_thread, int byte, sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"  //@ mma_shape for m16n8k32  //@ mma_kind for mxf8f6f4.block_scale.scale_vec::1X
                 ".f32"
                 ".e4m3"  //@ mma_m for e4m3
                 ".e4m3"  //@ mma_n for e4m3
                 ".f32"
                 ".ue8m0 "  //@ mma_scale for ue8m0
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {%11, %12}, %13, {%11, %14};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]), "r"(m_scales), "h"(static_cast<short>(byte)), "h"(static_cast<short>(m_thread)), "r"(n_scales), "h"(static_cast<short>(n_thread)));
}
