// Its exponent and fraction, in their places, are a bfloat16 that is 2^126 too small: 1 and 127 are the biases. A product shifts all four
// bits of the first two neighbours to both places.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    if (neighbour < 2)
        return (units & 0x000f000fu << 4 * neighbour) * (0x1040u >> 4 * neighbour) & 0x81c081c0u;
    const unsigned int signs = units << (12 - 4 * neighbour) & 0x80008000u;
    return signs | (units >> (4 * neighbour - 6) & 0x01c001c0u);
}
