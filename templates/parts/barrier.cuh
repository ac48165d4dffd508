// Barriers in shared memory (mbarrier). A phase of one ends when as many have arrived as it was made for, and all bytes are there that
// were announced. Phases take turns as 0 and 1: who waits says which one is to end.
using barrier_t = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void make_barrier(barrier_t &barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// What was made is there for the copy engine too.
__device__ __forceinline__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

//@ if gathers_m
// Arrive when all copies (cp.async) are there that this thread has started. Others see them after the barrier.
__device__ __forceinline__ void arrive_with_copies(barrier_t &barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

//@ end
// Arrive, and announce so many bytes that copies will bring.
__device__ __forceinline__ void arrive_and_expect(barrier_t &barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(barrier_t &barrier, int phase)
{
    asm volatile(
        "{\n"
        ".reg .pred is_over;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 is_over, [%0], %1;\n"
        "@!is_over bra again;\n"
        "}" ::"r"(shared_address(&barrier)), "r"(phase) : "memory");
}

