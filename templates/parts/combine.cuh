
// The kernel behind: of each row and each column of P it combines the slots in W, always in the same order.
constexpr int COMBINE_THREADS = 256;
constexpr int COMBINE_GROUPS = COMBINE_THREADS / 32;  // warps, which share the slots of 32 rows or columns

// Launch: COMBINE_THREADS threads in a block, for 32 rows or columns of P, whichever are more.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
combine(
    //@ lines result_parameters
    //@ if reduces_by_path
    //@| const int *paths,
    //@ end
    const float *__restrict__ W)  //@ real_t for float
{
    __shared__ float found[COMBINE_GROUPS][32];  //@ real_t for float
    const int group = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const index_t place = static_cast<index_t>(blockIdx.x) * 32 + lane;

    #include "parts/awaits.cuh"
    //@ if reduces_by_path
    //@| // The kernel that has multiplied has filled the slots of its own tiles.
    //@| const int path = paths[blockIdx.z];
    //@| const long long row_slots = path == PATH_F16 ? 3 : path == PATH_BF16 ? 4 : 6;  //@ f16_row_slots for 3  //@ bf16_row_slots for 4  //@ f32_row_slots for 6
    //@| const long long col_slots = path == PATH_F16 ? 2 : path == PATH_BF16 ? 3 : 4;  //@ f16_col_slots for 2  //@ bf16_col_slots for 3  //@ f32_col_slots for 4
    //@ end
    //@ if batched
    W += blockIdx.z * RESULTS;
    //@ end
    //@ lines results_of_product
    //@ lines all_combined
}
