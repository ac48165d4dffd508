// Of planes of f16 or of bf16.
template <bool ARE_BF16>
__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    if constexpr (ARE_BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}
