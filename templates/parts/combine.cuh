
// The kernel after the product: of each row and each column of P it combines the slots in W, always in the same order.
constexpr int COMBINE_THREADS = 256;
constexpr int COMBINE_GROUPS = COMBINE_THREADS / 32;  // warps, which share the slots of 32 rows or columns

// Launch: COMBINE_THREADS threads in a block, for 32 rows or columns of P, whichever are more.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
combine(
    //@ lines result_parameters
    //@| const int *paths,  //@ only reduces_by_path
    const float *W)  //@ real_t for float
{
    __shared__ float found[COMBINE_GROUPS][32];  //@ real_t for float
    const int group = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const index_t place = static_cast<index_t>(blockIdx.x) * 32 + lane;

    #include "parts/awaits.cuh"
    //@| #include "parts/slots_of_path.cuh"  //@ only reduces_by_path
    W += blockIdx.z * RESULTS;  //@ only batched
    //@ lines results_of_product
    //@ lines all_combined
}
