// The scale of some elements of P from the largest of their magnitudes: the least power of two, from 2^-126 on, by which that one
// divided is not above 448, the largest number of P's type. Zeros have the scale 1; a NaN or an infinity gives infinity.  //@ largest_of_type for 448
__device__ __forceinline__ float scale_of(unsigned int largest)
{
    const int exponent = (largest + 0x1fffffu) >> 23;  // one more where the fraction is above that of 448  //@ largest_of_type for 448  //@ to_next_power for 0x1fffffu
    const unsigned int power = static_cast<unsigned int>(max(exponent - 8, 1)) << 23;  //@ exponent_of_type for 8
    return __uint_as_float(largest == 0 ? 0x3f800000u : largest < 0x7f800000u ? power : 0x7f800000u);
}

