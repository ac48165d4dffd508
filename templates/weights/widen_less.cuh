
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less)
{
    return add_both(widen_neighbour(units, neighbour), less);
}
