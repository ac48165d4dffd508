// The scale of some elements of P from the largest of their magnitudes, which divided by it is 448, the largest number of P's type.  //@ largest_of_type for 448
// It is 2^-126 or more, so that its inverse is finite. Zeros have the scale 1; a NaN or an infinity stays one.
__device__ __forceinline__ float scale_of(unsigned int largest)
{
    const unsigned int scale = __float_as_uint(__uint_as_float(largest) / 448.0f);  //@ largest_of_type for 448
    return __uint_as_float(largest == 0 ? 0x3f800000u : max(scale, 0x00800000u));
}

