// Its exponent and fraction, in their places, are a bfloat16 that is 2^126 too small: 1 and 127 are the biases. Its scale makes up for that.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    const unsigned int signs = units << (12 - 4 * neighbour) & 0x80008000u;
    return signs | ((neighbour < 2 ? units << (6 - 4 * neighbour) : units >> (4 * neighbour - 6)) & 0x01c001c0u);
}
