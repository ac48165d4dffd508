#include "weights/add_both.cuh"
// 1024 + 128 + weight has the weight, with its sign turned round, as its last 8 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0xe480e480u /* -1152 */)
{
    return add_both(__byte_perm(units ^ 0x80808080u, 0x64646464u, neighbour == 0 ? 0x4240 : 0x4341), less);
}
