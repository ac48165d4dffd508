// As two numbers of 16 bits. Its bits are the exponent of a bfloat16; 2^-127 is below the normal ones; 255 is infinity, and of that a NaN
// is made where it is subtracted from itself.
__device__ __forceinline__ unsigned int twice(e8m0 scale)
{
    return __vmaxu2(scale.bits * 0x00800080u, 0x00400040u);
}
