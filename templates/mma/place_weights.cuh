__device__ __forceinline__ int m_place(int line, int element)
{
    return swizzle<M_LINE / WEIGHTS_CHUNK>(line, element / WEIGHTS_CHUNK, line % 8) * WEIGHTS_CHUNK + element % WEIGHTS_CHUNK;  //@ m_reader for line % 8
}
