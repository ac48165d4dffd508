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
    //@| long long ld_p,  //@ only any_ld_p
    //@| long long ld_c,  //@ only any_ld_c
    //@| long long stride_p,  //@ only any_stride_p
    //@| long long stride_c,  //@ only any_stride_c
    //@| long long stride_scale_m,  //@ only scale_m and batched
    //@| long long stride_scale_n,  //@ only scale_n and batched
    sum_t alpha,  //@ scalar_t for sum_t  //@ only has_alpha
    sum_t beta,  //@ scalar_t for sum_t  //@ only has_beta and not always_c
    //@| const float *__restrict__ scale_m,  //@ only scale_m
    //@| const float *__restrict__ scale_n,  //@ only scale_n
    //@ if operands
    //@ lines operand_parameters
    //@ end
    const sum_t *__restrict__ W,
    //@ if has_beta and c_array
    //@| const output_t *const *C_array,  // where the C of each product lies; each may be that product's P
    //@ elif has_beta
    const output_t *C,  // may be P itself
    //@ end
    //@| output_t *const *P_array)  // where the P of each product lies  //@ only p_array
    output_t *P)  //@ only not p_array
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

    //@| const long long stride_p = ld_p * j;  //@ stride_p  //@ only derived_stride_p
    //@| const long long stride_c = ld_c * j;  //@ stride_c  //@ only derived_stride_c
    W += blockIdx.z * matrix * SPLITS;  //@ only batched
    //@| scale_m += blockIdx.z * stride_scale_m;  //@ only scale_m and batched
    //@| scale_n += blockIdx.z * stride_scale_n;  //@ only scale_n and batched
    //@ if operands
    //@ lines operands_of_product
    //@ end
    //@ if always_c and c_array
    //@| const output_t *C = C_array[blockIdx.z];
    //@ elif has_beta and c_array
    //@| const output_t *C = beta != 0 ? C_array[blockIdx.z] : nullptr;  // beta = 0 must not even look for C
    //@ elif has_beta and batched
    C += blockIdx.z * stride_c;
    //@ end
    //@ if p_array
    //@| output_t *P = P_array[blockIdx.z];
    //@ elif batched
    P += blockIdx.z * stride_p;
    //@ end
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
