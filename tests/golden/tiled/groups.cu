// j512 k300 l700 f32 groups=8
//
//     P_g (j_g x 700) = M_g (j_g x 300) . N_g (300 x 700)
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

constexpr index_t all_rows = 512;  // of M and P, in all groups
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr long long stride_n = 210000;
constexpr int TILE_WIDTH = 16;

// The rows of M and P belong to GROUPS products, one after the other, and each of these has an N of its own: the rows of group g begin
// at offsets[g] and end before offsets[g + 1]. A tile of P has rows of one group, so that the last one of a group may be short.
//
// Whatever the offsets are, no row lies outside of M and P, and none belongs to two groups: an offset that is too small or too large
// counts as the first or the last that there can be, and one that is below an earlier one as that one.
constexpr int GROUPS = 8;
using offset_t = int;

// A group, its rows, how many rows of tiles it has, and how many all groups in front of it.
struct group_t {
    int number;
    index_t begin, end;
    int tiles, before;
};

__device__ __forceinline__ index_t row_at(const offset_t *offsets, int i, index_t all_rows)
{
    const offset_t row = offsets[i];
    return row < 0 ? 0 : row > all_rows ? all_rows : static_cast<index_t>(row);
}

// Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
__device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
{
    index_t begin = row_at(offsets, 0, all_rows);
    int before = 0;
    for (int group = 0; group < GROUPS; ++group) {
        const index_t end = max(begin, row_at(offsets, group + 1, all_rows));
        const int tiles = (end - begin + height - 1) / height;
        if (row < before + tiles) {
            found = {group, begin, end, tiles, before};
            return true;
        }
        before += tiles;
        begin = end;
    }
    return false;
}

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(all_rows / TILE_WIDTH) + GROUPS - 1) blocks in the grid: as many as all groups may have tiles.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
tiled_f32_512x300x700(
    const offset_t *__restrict__ offsets,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    __shared__ sum_t Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ sum_t Nds[TILE_WIDTH][TILE_WIDTH];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // The rows of P that this block computes begin at block_row, and their group ends before row j.
    group_t group;
    if (!find_group(offsets, all_rows, TILE_WIDTH, blockIdx.y, group))
        return;  // there are more blocks than tiles
    const index_t block_row = group.begin + static_cast<index_t>(blockIdx.y - group.before) * TILE_WIDTH, j = group.end;
    N += group.number * stride_n;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;

    sum_t Pvalue = 0;
    for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {
        // One element of M and one of N for each thread to load.
        // Zero, which adds nothing, where a tile hangs over the edge.
        const index_t k_tx = phase * TILE_WIDTH + tx;
        const index_t k_ty = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};
        Nds[ty][tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};
        __syncthreads();  // read after write: both tiles are complete before anyone reads them

        for (int i = 0; i < TILE_WIDTH; ++i)
            Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
    }

    if (Row >= j || Col >= l)
        return;  // this thread only helped to load
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
