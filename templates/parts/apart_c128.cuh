// A complex number whose parts are loaded from shared memory on their own. One load of both would put neighbouring registers side by
// side that fragments have apart, and moving them waits for tensor cores that still read the old ones.
struct apart_c128 {
    double re, im;

    apart_c128() = default;
    __device__ apart_c128(const c128 &at)
    {
        const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(&at));
        asm volatile("ld.volatile.shared.f64 %0, [%1];" : "=d"(re) : "r"(shared));
        asm volatile("ld.volatile.shared.f64 %0, [%1 + 8];" : "=d"(im) : "r"(shared));
    }
};

