// The address of a barrier of the pair's first block, which lies there as it does here.
__device__ __forceinline__ unsigned first_address(const barrier_t &barrier)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(shared_address(&barrier)));
    return there;
}

__device__ __forceinline__ void arrive_at_first(barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(first_address(barrier)) : "memory");
}

__device__ __forceinline__ void arrive_at_first_and_expect(barrier_t &barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(first_address(barrier)), "r"(bytes) : "memory");
}

// Copy a box to this block; the first one's barrier counts the bytes.
//@ if tensor_2d
__device__ __forceinline__ void copy_box_of_pair(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(first_address(barrier)) : "memory");
}

//@ end
//@ if tensor_3d
__device__ __forceinline__ void copy_box_of_pair(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(first_address(barrier)) : "memory");
}

//@ end
// Arrive in both blocks when all products are made that this thread has asked for.
__device__ __forceinline__ void arrive_with_products(barrier_t &barrier)
{
    constexpr unsigned short BOTH = 3;
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                 ::"r"(shared_address(&barrier)), "h"(BOTH) : "memory");
}

