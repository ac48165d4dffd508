#include "weights/add_both.cuh"
#include "weights/take_bits.cuh"
// 1024 + 8 + weight has the weight, with its sign turned round, as its last 4 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0xe408e408u /* -1032 */)
{
    return add_both(take_bits(units >> 4 * neighbour, 0x000f000fu, 0x64086408u), less);
}
