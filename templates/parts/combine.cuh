
// The kernel behind: of each row and each column of P it combines the slots in W, always in the same order.
constexpr int COMBINE_THREADS = 256;
constexpr int COMBINE_GROUPS = COMBINE_THREADS / 32;  // warps, which share the slots of 32 rows or columns

// Launch: COMBINE_THREADS threads in a block, for 32 rows or columns of P, whichever are more.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
combine(  //@ combine for combine
    //@ lines result_parameters
    const float *__restrict__ W)  //@ real_t for float
{
    __shared__ float found[COMBINE_GROUPS][32];  //@ real_t for float
    const int group = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const index_t place = static_cast<index_t>(blockIdx.x) * 32 + lane;

    #include "parts/awaits.cuh"  //@ include
    //@ if batched
    W += blockIdx.z * RESULTS;
    //@ end
    //@ lines results_of_product
    //@ lines all_combined
}
