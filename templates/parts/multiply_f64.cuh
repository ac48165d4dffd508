__device__ __forceinline__ void multiply_add(const double (&m)[4], const double (&n)[2], double &sum0, double &sum1, double &sum2, double &sum3)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sum0), "+d"(sum1), "+d"(sum2), "+d"(sum3)
                 : "d"(m[0]), "d"(m[1]), "d"(m[2]), "d"(m[3]), "d"(n[0]), "d"(n[1]));
#else
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum0), "+d"(sum1)
                     : "d"(m[2 * chunk]), "d"(n[chunk]));
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum2), "+d"(sum3)
                     : "d"(m[2 * chunk + 1]), "d"(n[chunk]));
    }
#endif
}
