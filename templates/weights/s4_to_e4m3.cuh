#include "weights/look_up.cuh"
// 0 to 7, and -8 to -1.
__device__ __forceinline__ unsigned int widen_four(unsigned int four)
{
    return look_up(four, {0x44403800u, 0x4e4c4a48u}, {0xcaccced0u, 0xb8c0c4c8u});
}
