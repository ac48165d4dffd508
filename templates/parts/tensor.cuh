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
__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(shared_address(&barrier)) : "memory");
}

//@ end
//@ if p_map
// The other way, from shared memory. Nothing of a box may change until the engine has read it.
//@ if batched
__device__ __forceinline__ void store_box(const tensor_map_t &to, const void *from, int element, int line, int product)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                 ::"l"(&to), "r"(element), "r"(line), "r"(product), "r"(shared_address(from)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
//@ else
__device__ __forceinline__ void store_box(const tensor_map_t &to, const void *from, int element, int line)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&to), "r"(element), "r"(line), "r"(shared_address(from)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
//@ end

// Until no more than so many of the boxes that this thread has stored are still to be read.
template <int LEFT>
__device__ __forceinline__ void wait_until_stored()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

//@ end
//@ if p_map or prepares or gathers_m or scales_products
// What this thread has written to shared memory is there for the copy engine, and for the tensor cores, too.
__device__ __forceinline__ void publish_stores()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//@ end
