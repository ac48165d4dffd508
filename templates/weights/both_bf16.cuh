// A whole number of at most 256, twice in 16 bits each.
__device__ __forceinline__ unsigned int both(float number)
{
    return __byte_perm(__float_as_uint(number), 0, 0x3232);
}

