
// The second kernel: it adds up the SPLITS partial sums of each element of P, always in the same order.
// A block serves REDUCE_ELEMENTS neighbouring elements; REDUCE_GROUPS threads share the splits of each.
constexpr int REDUCE_GROUPS = 8;
constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_ELEMENTS = REDUCE_THREADS / REDUCE_GROUPS;

// Launch: REDUCE_THREADS threads in a block,
//         (ceil(j * l / REDUCE_ELEMENTS), 1) blocks in the grid.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
reduce(
    //@ instead reduce_parameters
    sum_t alpha,
    sum_t beta,
    const sum_t *W,
    const output_t *C,  // may be P itself
    output_t *P)
    //@ end
{
    __shared__ sum_t partial[REDUCE_GROUPS][REDUCE_ELEMENTS];
    //@| __shared__ sum_t partial_beside[REDUCE_GROUPS][REDUCE_ELEMENTS];  //@ only pairs
    const int group = threadIdx.x / REDUCE_ELEMENTS;
    const int place = threadIdx.x % REDUCE_ELEMENTS;
    const index_t element = static_cast<index_t>(blockIdx.x) * REDUCE_ELEMENTS + place;
    const long long matrix = static_cast<long long>(j) * l;  // from one split to the next

    #include "parts/awaits.cuh"

    //@ lines reduce_derived
    W += blockIdx.z * matrix * SPLITS;  //@ only batched
    #include "parts/output.cuh"
    sum_t Pvalue = 0;
    #include "parts/reduce_sums.cuh"  //@ reduce_reads
    partial[group][place] = Pvalue;
    __syncthreads();
    if (group > 0 || element >= j * l)  //@ elements for j * l
        return;
#pragma unroll
    for (int other = 1; other < REDUCE_GROUPS; ++other)
        Pvalue += partial[other][place];
//@| #pragma unroll  //@ only pairs
    //@| for (int other = 1; other < REDUCE_GROUPS; ++other)  //@ only pairs
    //@|     beside += partial_beside[other][place];

    // W lies as P does.
    const index_t Row = element / l;  //@ row_of_element for element / l
    const index_t Col = element % l;  //@ col_of_element for element % l
    //@| #include "parts/one_triangle.cuh"  //@ only symmetric
    #include "parts/epilogue.cuh"
}
