#include "weights/add_both.cuh"
#include "weights/take_bits.cuh"
// 128 + weight has the weight as its last 4 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0xc300c300u /* -128 */)
{
    return add_both(take_bits(units >> 4 * neighbour, 0x000f000fu, 0x43004300u), less);
}
