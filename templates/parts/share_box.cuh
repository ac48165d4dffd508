// Copy a box of M to the same place of all blocks that share it, whose barriers each count the bytes.
__device__ __forceinline__ void share_m_box(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)), "h"(m_sharers(blockIdx.x % CLUSTER)) : "memory");
}

