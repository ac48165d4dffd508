// Four weights of 4 bits, of the lower half of a register, as e4m3, which has all that they can be. The last three bits of a weight find
// it among the eight numbers of low, and among those of high; its first bit chooses between the two.
__device__ __forceinline__ unsigned int look_up(unsigned int four, uint2 low, uint2 high)
{
    const unsigned int if_low = __byte_perm(low.x, low.y, four), if_high = __byte_perm(high.x, high.y, four);
    return __byte_perm(if_low, if_high, (four >> 1 & 0x4444u) | 0x3210u);
}

