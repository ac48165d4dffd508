// Two of the bytes of a word, those that `which` selects, as two numbers of bfloat16. 2^23 + byte has the byte as its last bits, so
// one subtraction converts it to a float, of which the upper half has all that there is.
__device__ __forceinline__ unsigned int widen_two(unsigned int bytes, unsigned int which)
{
    const float excess = 8388736.0f;  // 2^23 + 128  //@ bf16_excess for 8388736.0f;  // 2^23 + 128
    const float first = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7540 | (which & 0xf))) - excess;
    const float second = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7540 | (which >> 8 & 0xf))) - excess;
    return __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);
}
