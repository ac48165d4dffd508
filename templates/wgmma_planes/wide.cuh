// The same of bf16, for wide.
__device__ __forceinline__ void multiply_add_wide(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %10, 0;\n"  //@ adds_operand for 10
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "  //@ wide_wgmma for wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
        "{%0, %1, %2, %3"
        //@ repeat more_sums
        ", %4, %5, %6, %7"
        //@ end
        "}, %8, %9, adds, 1, 1, 0, 0;\n"  //@ m_operand for 8  //@ n_operand for 9
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        //@ repeat more_sums
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        //@ end
        : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
}

