#include "weights/add_both.cuh"
#include "weights/take_bits.cuh"
// 128 + n has n as its last 7 bits, of which bfloat16 has no more. What the eighth is worth goes to what is subtracted.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0x43004300u /* 128 */)
{
    const unsigned int weights = units >> 8 * neighbour, last = take_bits(weights, 0x007f007fu, 0x43004300u);
    const unsigned int number = add_both(last, take_bits(weights, 0x00800080u, 0xc380c380u));  // -128 for a weight from 128 on, or -256
    return add_both(number, less);  // and 128 back
}
