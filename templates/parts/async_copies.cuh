//@ if copies_whole
template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES));
}

//@ end
//@ if copies_or_zero
// What is not wanted becomes zero, and is not read.
template <int BYTES>
__device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool is_wanted)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int bytes = is_wanted ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(bytes));
}

//@ end
//@ if copies_part
// Of the elements, so many are left to read, or more; what is beyond them becomes zero, and is not read.
template <int COUNT, typename element_t>
__device__ __forceinline__ void copy_async_part(element_t *to, const element_t *from, index_t left)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int wanted = left < 0 ? 0 : left < COUNT ? static_cast<int>(left) : COUNT;
    constexpr int BYTES = COUNT * sizeof(element_t);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(wanted * int(sizeof(element_t))));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(wanted * int(sizeof(element_t))));
}

//@ end
