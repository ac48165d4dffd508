// As two numbers of 16 bits, of which the upper half of a float has all that the scale has.
__device__ __forceinline__ unsigned int twice(e4m3 scale)
{
    return __byte_perm(__float_as_uint(scale), 0, 0x3232);
}
