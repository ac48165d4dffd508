__device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN])
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 "  //@ wgmma_name for wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8
        "{%0, %1, %2, %3"
        //@ repeat more_sums
        ", %4, %5, %6, %7"
        //@ end
        "}, %8, %9, 1"  // 1: added to the sums  //@ m_operand for 8  //@ n_operand for 9
        ";"
        : "+r"(upper[0]), "+r"(upper[1]), "+r"(lower[0]), "+r"(lower[1])
        //@ repeat more_sums
        , "+r"(upper[2]), "+r"(upper[3]), "+r"(lower[2]), "+r"(lower[3])
        //@ end
        : "l"(m), "l"(n));
}

