#include "weights/add_both.cuh"
// 1024 + weight has the weight as its last 8 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0xe400e400u /* -1024 */)
{
    return add_both(__byte_perm(units, 0x64646464u, neighbour == 0 ? 0x4240 : 0x4341), less);
}
