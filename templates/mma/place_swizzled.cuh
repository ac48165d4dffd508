__device__ __forceinline__ int m_place(int line, int element)
{
    return swizzle<M_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;  //@ m_reader for line % 8
}
