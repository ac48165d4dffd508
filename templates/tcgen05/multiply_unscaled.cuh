// adds: to the sums that are there; otherwise they begin with this product.
__device__ __forceinline__ void multiply(unsigned sums, unsigned long long m, unsigned long long n, bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds;\n"  //@ mma_name for tcgen05.mma.cta_group::1.kind::f16
        "}" ::"r"(sums), "l"(m), "l"(n), "r"(PRODUCT), "r"(static_cast<int>(adds)) : "memory");
}

