// widen: integers of 8 bits, the weights, as numbers of the 16 bits that they are multiplied by. Those have every such integer, so
// it is exact.
//@ if widens_to_half
// Two of the bytes of a word, those that `which` selects, as two halves. 1024 + byte has the byte as its last bits, so one subtraction
// converts both.
__device__ __forceinline__ unsigned int widen_two(unsigned int bytes, unsigned int which)
{
    unsigned int two = __byte_perm(bytes, 0x64646464u, which);
    asm("sub.f16x2 %0, %0, %1;" : "+r"(two) : "r"(0x64806480u));  // 1024 + 128  //@ only weights_signed
    //@| asm("sub.f16x2 %0, %0, %1;" : "+r"(two) : "r"(0x64006400u));  //@ only not weights_signed
    return two;
}
//@ else
//@| // Two of the bytes of a word, those that `which` selects, as two numbers of bfloat16. 2^23 + byte has the byte as its last bits, so
//@| // one subtraction converts it to a float, of which the upper half has all that there is.
//@| __device__ __forceinline__ unsigned int widen_two(unsigned int bytes, unsigned int which)
//@| {
//@|     const float excess = 8388736.0f;  // 2^23 + 128  //@ only weights_signed
//@|     const float excess = 8388608.0f;  //@ only not weights_signed
//@|     const float first = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7540 | (which & 0xf))) - excess;
//@|     const float second = __uint_as_float(__byte_perm(bytes, 0x4b000000u, 0x7540 | (which >> 8 & 0xf))) - excess;
//@|     return __byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);
//@| }
//@ end

template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 2> widen(const vector_t<unsigned int, COUNT / 4> &weights)
{
    vector_t<unsigned int, COUNT / 2> numbers;
#pragma unroll
    for (int word = 0; word < COUNT / 4; ++word) {
        const unsigned int bytes = weights.element[word] ^ 0x80808080u;  // each 128 more  //@ only weights_signed
        //@| const unsigned int bytes = weights.element[word];  //@ only not weights_signed
        numbers.element[2 * word] = widen_two(bytes, 0x4140);
        numbers.element[2 * word + 1] = widen_two(bytes, 0x4342);
    }
    return numbers;
}

//@ if widens_pairs
//@| // Eight weights of 4 bits as so many bytes, in their order.
//@| __device__ __forceinline__ vector_t<unsigned int, 2> unpack(unsigned int pairs)
//@| {
//@|     const unsigned int first = pairs & 0x0f0f0f0fu, second = pairs >> 4 & 0x0f0f0f0fu;  // of each pair
//@|     vector_t<unsigned int, 2> bytes = {{__byte_perm(first, second, 0x5140), __byte_perm(first, second, 0x7362)}};
//@|     for (int word = 0; word < 2; ++word)
//@|         bytes.element[word] = ((bytes.element[word] ^ 0x08080808u) + 0x78787878u) ^ 0x80808080u;  // 8 more, 128 more, as they are
//@|     return bytes;
//@| }

//@ end
//@ if widens_whole
// COUNT weights that lie in so many bytes.
template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights(const void *from)
{
    return *static_cast<const vector_t<unsigned int, COUNT / 4> *>(from);
}

//@ end
//@ if widens_or_zero
// COUNT weights. What is not wanted becomes zero, and is not read.
template <int COUNT>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights_or_zero(const void *from, bool is_wanted)
{
    vector_t<unsigned int, COUNT / 4> weights = {};
    if (is_wanted)
        weights = *static_cast<const vector_t<unsigned int, COUNT / 4> *>(from);
    return weights;
}

//@ end
//@ if widens_elements
// COUNT weights that may begin anywhere are loaded one by one. So many are left to read, or more; what is beyond them becomes zero,
// and is not read.
template <int COUNT, typename weight_t>
__device__ __forceinline__ vector_t<unsigned int, COUNT / 4> load_weights_one_by_one(const weight_t *from, index_t left)
{
    vector_t<weight_t, COUNT> weights = {};
#pragma unroll
    for (int e = 0; e < COUNT; ++e)
        if (e < left)
            weights.element[e] = from[e];
    return reinterpret_cast<const vector_t<unsigned int, COUNT / 4> &>(weights);
}

//@ end
//@ if widens_whole or widens_or_zero or widens_elements
// They become COUNT numbers of a tile.
template <int COUNT>
__device__ __forceinline__ void store_widened(void *to, const vector_t<unsigned int, COUNT / 4> &weights)
{
    *static_cast<vector_t<unsigned int, COUNT / 2> *>(to) = widen<COUNT>(weights);
}

//@ end
