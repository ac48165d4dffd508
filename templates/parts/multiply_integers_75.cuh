__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
#if __CUDA_ARCH__ >= 800
    #include "parts/integers_at_once.cuh"
#else
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        asm volatile("mma.sync.aligned.m8n8k16.row.col"
                     ".s32"
                     ".s8"  //@ mma_m for s8
                     ".s8"  //@ mma_n for s8
                     ".s32 "
                     "{%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(sum0), "+r"(sum1)
                     : "r"(m[2 * chunk]), "r"(n[chunk]));
        asm volatile("mma.sync.aligned.m8n8k16.row.col"
                     ".s32"
                     ".s8"  //@ mma_m for s8
                     ".s8"  //@ mma_n for s8
                     ".s32 "
                     "{%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(sum2), "+r"(sum3)
                     : "r"(m[2 * chunk + 1]), "r"(n[chunk]));
    }
#endif
}
