__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col"  //@ mma_shape for m16n8k16
                 ".f32"
                 ".bf16"  //@ mma_m for bf16
                 ".bf16"  //@ mma_n for bf16
                 ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}
