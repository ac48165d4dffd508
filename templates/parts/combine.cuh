
// The kernel behind: of each row and each column of P it combines the slots in W, always in the same order.
constexpr int COMBINE_THREADS = 256;

// Launch: COMBINE_THREADS threads in a block, one for each row or column of P, whichever are more.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
combine(  //@ combine for combine
    //@ lines result_parameters
    const float *__restrict__ W)  //@ real_t for float
{
    const index_t place = static_cast<index_t>(blockIdx.x) * COMBINE_THREADS + threadIdx.x;
    //@ if batched
    W += blockIdx.z * RESULTS;
    //@ end
    //@ lines results_of_product
    //@ lines all_combined
}
