// Copies of boxes out of a matrix that a tensor map describes, past the registers and threads (TMA). What lies outside the matrix
// becomes zero. The bytes that arrive are counted by a barrier.
struct alignas(128) tensor_map_t {
    unsigned char bytes[128];
};

//@ if tensor_2d
__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)) : "memory");
}

//@ end
//@ if tensor_3d
//@| __device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
//@| {
//@|     asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
//@|                  ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(shared_address(&barrier)) : "memory");
//@| }
//@|
//@ end
