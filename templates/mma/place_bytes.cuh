__device__ __forceinline__ int m_place(int line, int element)
{
    const int reader = line % 2 + line / 4 % 4 * 2;  // ldmatrix reads lines in the order of line_of_bytes
    return swizzle<M_LINE / CHUNK>(line, element / CHUNK, reader) * CHUNK + element % CHUNK;
}
