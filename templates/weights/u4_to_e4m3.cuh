#include "weights/look_up.cuh"
// 0 to 7, and 8 to 15.
__device__ __forceinline__ unsigned int widen_four(unsigned int four)
{
    return look_up(four, {0x44403800u, 0x4e4c4a48u}, {0x53525150u, 0x57565554u});
}
