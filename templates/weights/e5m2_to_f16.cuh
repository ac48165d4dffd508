// It is the upper byte of a half.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    return __byte_perm(units, 0, neighbour == 0 ? 0x2404 : 0x3414);
}
