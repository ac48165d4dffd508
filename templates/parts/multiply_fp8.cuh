// Where tensor cores do not add products of 8-bit floats as they are asked to, they multiply halves, which are added with all bits: a
// register of four becomes two of halves. It does not matter which elements of k go together, if M and N agree.
#if __CUDA_ARCH__ < 1200  //@ by_halves for __CUDA_ARCH__ < 1200
__device__ __forceinline__ uint2 halves_of_m(unsigned int four)
{
    uint2 two;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two.x) : "h"(static_cast<unsigned short>(four)));  //@ m_x2 for e4m3x2
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two.y) : "h"(static_cast<unsigned short>(four >> 16)));  //@ m_x2 for e4m3x2
    return two;
}

__device__ __forceinline__ uint2 halves_of_n(unsigned int four)
{
    uint2 two;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two.x) : "h"(static_cast<unsigned short>(four)));  //@ n_x2 for e4m3x2
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two.y) : "h"(static_cast<unsigned short>(four >> 16)));  //@ n_x2 for e4m3x2
    return two;
}
#endif

__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
#if __CUDA_ARCH__ < 1200  //@ by_halves for __CUDA_ARCH__ < 1200
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        const uint2 upper = halves_of_m(m[2 * chunk]), lower = halves_of_m(m[2 * chunk + 1]), of_n = halves_of_n(n[chunk]);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(upper.x), "r"(lower.x), "r"(upper.y), "r"(lower.y), "r"(of_n.x), "r"(of_n.y));
    }
#else
    asm volatile("mma.sync.aligned.m16n8k32.row.col"
                 ".f32"
                 ".e4m3"  //@ mma_m for e4m3
                 ".e4m3"  //@ mma_n for e4m3
                 ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
#endif
}
