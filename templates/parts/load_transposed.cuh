// The same, transposed in units of 2 bytes: lane 4 g + t receives those numbered g of lines 2 t and 2 t + 1.
__device__ __forceinline__ void load_transposed(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

