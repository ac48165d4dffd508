__device__ __forceinline__ void multiply_add(const unsigned int (&m)[4], unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN])
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "  //@ wgmma_name for wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32
        "{%0, %1, %2, %3"
        //@ repeat more_sums
        ", %4, %5, %6, %7"
        //@ end
        "}, {%8, %9, %10, %11}"  //@ m_operand for 8  //@ m_second for 9  //@ m_third for 10  //@ m_fourth for 11
        ", %12, 1"  // 1: added to the sums  //@ n_operand for 12
        ", 1, 1;"  // neither factor is negated
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        //@ repeat more_sums
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        //@ end
        : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "l"(n));
}

