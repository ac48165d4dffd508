// Copies from global to shared memory through registers: a thread loads what one store takes, waits for it, and stores it.

//@ if copies_whole and not copies_async
template <int BYTES>
__device__ __forceinline__ void copy_plain(void *to, const void *from)
{
    using words_t = vector_t<unsigned int, BYTES / 4>;
    *static_cast<words_t *>(to) = *static_cast<const words_t *>(from);
}

//@ end
//@ if copies_or_zero and not copies_async
// What is not wanted becomes zero, and is not read.
template <int BYTES>
__device__ __forceinline__ void copy_plain_or_zero(void *to, const void *from, bool is_wanted)
{
    using words_t = vector_t<unsigned int, BYTES / 4>;
    words_t value = {};
    if (is_wanted)
        value = *static_cast<const words_t *>(from);
    *static_cast<words_t *>(to) = value;
}

//@ end
//@ if copies_elements
// COUNT elements that may begin anywhere are loaded one by one, as one word of 4 bytes is stored. So many are left to read, or more;
// what is beyond them becomes zero, and is not read.
template <int COUNT, typename element_t>
__device__ __forceinline__ void copy_elements(element_t *to, const element_t *from, index_t left)
{
    vector_t<element_t, COUNT> value = {};
#pragma unroll
    for (int e = 0; e < COUNT; ++e)
        if (e < left)
            value.element[e] = from[e];
    reinterpret_cast<unsigned int &>(*to) = reinterpret_cast<const unsigned int &>(value);
}

//@ end
