// Four matrices of 8 lines of 16 bytes each. Lane i says where line i % 8 of matrix i / 8 begins; lane 4 g + t receives the 4 bytes
// numbered t of line g of each.
__device__ __forceinline__ void load_matrices(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

