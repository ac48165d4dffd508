// j64 k48 l80 s8 alpha
//
//     P (64 x 80) = alpha * M (64 x 48) . N (48 x 80)
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

// A signed integer of 8 bits for storage.
struct s8 {
    signed char value;

    s8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    __device__ explicit s8(long long sum)
    {
        value = static_cast<signed char>(min(max(sum, -128LL), 127LL));
    }

    __device__ operator int() const
    {
        return value;
    }
};

using input_t = s8;
using output_t = s8;
using sum_t = int;
using index_t = int;

constexpr index_t j = 64;
constexpr index_t k = 48;
constexpr index_t l = 80;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_s8_64x48x80(
    long long alpha,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    // sum_t: a narrower element is converted once, on its way in, not at each of its TILE_WIDTH uses.
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];

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

    long long total = Pvalue;
    total *= alpha;
    P[Row * ld_p + Col] = static_cast<output_t>(total);
}
