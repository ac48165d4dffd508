// adds: to the sums; otherwise the products take their place.
template <int SUMS>
__device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[SUMS], sum_t (&lower)[SUMS], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %10, 0;\n"  //@ adds_operand for 10
        "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 "  //@ wgmma_name for wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3
        "{%0, %1, %2, %3"
        //@ repeat more_sums
        ", %4, %5, %6, %7"
        //@ end
        "}, %8, %9, adds"  //@ m_operand for 8  //@ n_operand for 9
        ", 1, 1"  // neither factor is negated
        //@ if mma_halves
        ", 0"  // 1: M lies across k  //@ m_across for 0
        ", 1"  // 1: N lies across k  //@ n_across for 1
        //@ end
        ";\n"
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        //@ repeat more_sums
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        //@ end
        : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
}

