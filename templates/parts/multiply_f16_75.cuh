__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col"
                 ".f32"
                 ".f16"
                 ".f16"
                 ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
#else
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(m[2 * chunk]), "r"(m[2 * chunk + 1]), "r"(n[chunk]));
    }
#endif
}
