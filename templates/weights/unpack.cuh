// Eight weights of 4 bits as so many bytes, in their order.
__device__ __forceinline__ vector_t<unsigned int, 2> unpack(unsigned int pairs)
{
    const unsigned int first = pairs & 0x0f0f0f0fu, second = pairs >> 4 & 0x0f0f0f0fu;  // of each pair
    vector_t<unsigned int, 2> bytes = {{__byte_perm(first, second, 0x5140), __byte_perm(first, second, 0x7362)}};
    for (int word = 0; word < 2; ++word)
        bytes.element[word] = ((bytes.element[word] ^ 0x08080808u) + 0x78787878u) ^ 0x80808080u;  // 8 more, 128 more, as they are
    return bytes;
}

