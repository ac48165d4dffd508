// Arrive when all products are made that this thread has asked for.
__device__ __forceinline__ void arrive_with_products(barrier_t &barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

