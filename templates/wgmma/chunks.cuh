// Chunks of 16 bytes in shared memory.
using chunk_t = vector_t<unsigned int, 4>;

__device__ __forceinline__ chunk_t take_chunk(unsigned at)
{
    chunk_t chunk;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(chunk.element[0]), "=r"(chunk.element[1]), "=r"(chunk.element[2]), "=r"(chunk.element[3]) : "r"(at) : "memory");
    return chunk;
}

__device__ __forceinline__ void put_chunk(unsigned at, unsigned w0, unsigned w1, unsigned w2, unsigned w3)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
}

