// Byte i of word w becomes byte w of word i.
__device__ __forceinline__ uint4 transpose_bytes(unsigned int w0, unsigned int w1, unsigned int w2, unsigned int w3)
{
    const unsigned int low01 = __byte_perm(w0, w1, 0x5140), low23 = __byte_perm(w2, w3, 0x5140);  // bytes 0 and 1 of both
    const unsigned int high01 = __byte_perm(w0, w1, 0x7362), high23 = __byte_perm(w2, w3, 0x7362);  // bytes 2 and 3
    return {__byte_perm(low01, low23, 0x5410), __byte_perm(low01, low23, 0x7632), __byte_perm(high01, high23, 0x5410), __byte_perm(high01, high23, 0x7632)};
}

