__device__ __forceinline__ void multiply_add(const float (&m)[4], const float (&n)[2], float &sum0, float &sum1, float &sum2, float &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                 : "r"(__float_as_uint(m[0])), "r"(__float_as_uint(m[1])), "r"(__float_as_uint(m[2])), "r"(__float_as_uint(m[3])),
                   "r"(__float_as_uint(n[0])), "r"(__float_as_uint(n[1])));
}
