// The address of a place in the shared memory of another block, which lies as it does in one's own. It is volatile, since no lane may ask for
// a block that is not there, not even ahead of time.
__device__ __forceinline__ unsigned address_in(int block, const void *at)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(block));
    return there;
}

// Send two sums to an address in another block. A barrier there counts the bytes when they have come.
__device__ __forceinline__ void send_pair(unsigned to, sum_t first, sum_t second, unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
                 ::"r"(to), "f"(first), "f"(second), "r"(barrier) : "memory");  //@ send_constraint for "f"  //@ send_constraint for "f"
}

__device__ __forceinline__ void arrive_at(int block, barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_in(block, &barrier)) : "memory");
}

