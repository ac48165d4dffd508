constexpr unsigned short ALL_BLOCKS = (1 << CLUSTER) - 1;

// Each of the first CLUSTER lanes arrives at the barrier that lies in the same place of one block.
__device__ __forceinline__ void arrive_everywhere(barrier_t &barrier)
{
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(&barrier)), "r"(threadIdx.x % 32) : "memory");
}

// Copy a box to the same place of all blocks, whose barriers each count the bytes.
//@ if shared_3d
//@| __device__ __forceinline__ void copy_box_to_all(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
//@| {
//@|     asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;"
//@|                  ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(shared_address(&barrier)), "h"(ALL_BLOCKS) : "memory");
//@| }
//@ else
__device__ __forceinline__ void copy_box_to_all(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)), "h"(ALL_BLOCKS) : "memory");
}
//@ end

