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
    const sum_t *__restrict__ W,
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

    // This kernel may have started beside the first one, whose sums it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

    //@ lines reduce_derived
    W += blockIdx.z * matrix * SPLITS;  //@ only batched
    #include "parts/output.cuh"
    sum_t Pvalue = 0;
    //@ if pairs
    //@| sum_t beside = 0;  // of the next column
    //@| if (element < j * (l / 2)) {
//@| #pragma unroll 8
    //@|     for (int split = group; split < SPLITS; split += REDUCE_GROUPS) {
    //@|         Pvalue += W[split * matrix + 2 * element];
    //@|         beside += W[split * matrix + 2 * element + 1];
    //@|     }
    //@| }
    //@| partial_beside[group][place] = beside;
    //@ else
    if (element < j * l) {
#pragma unroll 8
        for (int split = group; split < SPLITS; split += REDUCE_GROUPS)
            Pvalue += W[split * matrix + element];
    }
    //@ end
    partial[group][place] = Pvalue;
    __syncthreads();
    if (group > 0 || element >= j * l)  //@ elements for j * l
        return;
#pragma unroll
    for (int other = 1; other < REDUCE_GROUPS; ++other)
        Pvalue += partial[other][place];
    //@ if pairs
//@| #pragma unroll
    //@| for (int other = 1; other < REDUCE_GROUPS; ++other)
    //@|     beside += partial_beside[other][place];
    //@ end

    // W lies as P does.
    //@ if pairs
    //@| const index_t Row = element / (l / 2);
    //@| const index_t Col = element % (l / 2) * 2;
    //@ elif p_row_major
    const index_t Row = element / l;
    const index_t Col = element % l;
    //@ else
    //@| const index_t Row = element % j;
    //@| const index_t Col = element / j;
    //@ end
    #include "parts/epilogue.cuh"
}
