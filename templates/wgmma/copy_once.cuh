// Copy a box that no other block copies: the L2 evicts its lines first.
constexpr unsigned long long EVICT_FIRST = 0x12f0000000000000;
//@ if batched
//@| __device__ __forceinline__ void copy_box_once(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
//@| {
//@|     asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;"
//@|                  ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(shared_address(&barrier)), "l"(EVICT_FIRST) : "memory");
//@| }
//@ else
__device__ __forceinline__ void copy_box_once(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)), "l"(EVICT_FIRST) : "memory");
}
//@ end

