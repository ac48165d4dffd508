__device__ __forceinline__ int m_place(int line, int element)
{
    return line * M_PITCH + element;
}
