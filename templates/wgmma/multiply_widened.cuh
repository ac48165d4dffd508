// n: the lower half of a descriptor; all have the same upper half. adds: to the sums; otherwise the products take their place.
__device__ __forceinline__ void multiply_add(const unsigned int (&m)[4], unsigned int n, sum_t (&upper)[TN], sum_t (&lower)[TN], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        ".reg .b64 n;\n"
        "setp.ne.b32 adds, %13, 0;\n"  //@ adds_operand for 13
        "mov.b64 n, {%12, %14};\n"  //@ n_operand for 12  //@ upper_operand for 14
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "  //@ wgmma_name for wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
        "{%0, %1, %2, %3"
        //@ repeat more_sums
        ", %4, %5, %6, %7"
        //@ end
        "}, {%8, %9, %10, %11}"  //@ m_operand for 8  //@ m_second for 9  //@ m_third for 10  //@ m_fourth for 11
        ", n, adds"
        ", 1, 1"  // neither factor is negated
        //@ if mma_halves
        ", 0"  // 1: N lies across k  //@ n_across for 0
        //@ end
        ";\n"
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        //@ repeat more_sums
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        //@ end
        : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "r"(static_cast<int>(adds)), "r"(static_cast<unsigned int>(descriptor(nullptr, 0) >> 32)));
}

