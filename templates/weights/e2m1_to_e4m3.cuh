#include "weights/look_up.cuh"
// 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and the same below zero.
__device__ __forceinline__ unsigned int widen_four(unsigned int four)
{
    return look_up(four, {0x3c383000u, 0x4c484440u}, {0xbcb8b080u, 0xccc8c4c0u});
}
