// j64 k64 l64 f32 beta batch=8 stride_m=pointers stride_n=broadcast stride_p=pointers stride_c=pointers
//
//     P (64 x 64) = M (64 x 64) . N (64 x 64) + beta * C
//
// One block computes one TILE_WIDTH x TILE_WIDTH tile of P, one thread one element of it. The k
// dimension is walked in phases: in each, the block loads one tile of M and one tile of N into
// shared memory, where every element serves TILE_WIDTH threads.
//
//                                l
//                         +----+----+----+
//                         |    | N  |    |
//                       k |    | || |    |   phase by phase, downwards
//                         |    | \/ |    |
//               k         +----+----+----+
//        +----+----+----+ +----+----+----+
//        |    |    |    | |    |    |    |
//        +----+----+----+ +----+----+----+
//      j |   M  ===>    | |    |tile| P  |
//        +----+----+----+ +----+----+----+
//         phase by phase

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 64;
constexpr index_t k = 64;
constexpr index_t l = 64;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr index_t ld_c = l;
constexpr long long stride_n = 0;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
//         blockIdx.z counts the products of the batch.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_f32_64x64x64(
    sum_t beta,
    const input_t *const *M_array,  // where the M of each product lies
    const input_t *__restrict__ N,
    const output_t *const *C_array,  // where the C of each product lies; each may be that product's P
    output_t *const *P_array)  // where the P of each product lies
{
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];

    // The product of the batch that this block works on.
    const input_t *M = M_array[blockIdx.z];
    N += blockIdx.z * stride_n;
    const output_t *C = beta != 0 ? C_array[blockIdx.z] : nullptr;  // beta = 0 must not even look for C
    output_t *P = P_array[blockIdx.z];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // This block's tile of P begins here.
    const index_t block_row = blockIdx.y * TILE_WIDTH;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        const index_t k_tx = phase * TILE_WIDTH + tx;
        const index_t k_ty = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = M[Row * ld_m + k_tx];
        Nds[ty][tx] = N[k_ty * ld_n + Col];
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
        Pvalue += beta * C[Row * ld_c + Col];
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
