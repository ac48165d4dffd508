// P is a strip of few columns. Its time is that of reading M once, so each warp reads its own part by itself: it copies the
// tiles of its phases past the registers into a ring of its own, STAGES - 1 phases ahead, and waits for nobody.
//
//                      COLS                    The WARPS warps of a block take turns along k, PHASE elements each. The lanes of
//                    +------+                  a warp stand K_LANES along k, ROW_LANES along the rows of P and COL_LANES along
//         N   PHASE  |warp 0|                  its columns:
//                    +------+
//             PHASE  |warp 1|                         lane = (col_lane * ROW_LANES + row_lane) * K_LANES + k_lane
//    M               +------+
//  PHASE  PHASE         :                      Each reads VECTOR steps of k at once, 16 bytes, for TM rows ROW_LANES apart and
// +------+------+    +------+                  TN neighbouring columns. In the end the lanes along k fold their sums by
// |warp 0|warp 1| .. |      | BLOCK_ROWS       shuffles, and the block adds up those of its warps.
// +------+------+    +------+

#include "parts/card.cuh"
#include "strip/lanes.cuh"

#include "parts/vector.cuh"
#include "parts/async.cuh"
using chunk_t = vector_t<input_t, VECTOR>;

// What a warp has in shared memory: the tiles of STAGES phases and, when they are done with, its sums.
struct phase_t {
    chunk_t M[BLOCK_ROWS][CHUNKS];
    chunk_t N[CHUNKS][COLS | 1];  // VECTOR rows of N in each; an odd number of chunks apart, in other banks
};
union ring_t {
    phase_t phase[STAGES];
    sum_t sum[SHARE][WARP + 1];  // + 1: a lane's sums lie in different banks
};

// Where a chunk of a row of M lies: rows that are read together begin at the same bank, so their chunks change places.
__device__ __forceinline__ int place_of(int row, int chunk)
{
    constexpr int TOGETHER = K_LANES < 8 ? 8 / K_LANES : 1;
    return chunk ^ row % ROW_LANES % TOGETHER * K_LANES;
}

__device__ __forceinline__ chunk_t m_of(const phase_t &tile, int r, int row_lane, int chunk)
{
    return tile.M[r * ROW_LANES + row_lane][place_of(row_lane, chunk)];
}

__device__ __forceinline__ chunk_t n_of(const phase_t &tile, int line, int chunk)
{
    return tile.N[line][chunk];
}

#include "strip/fold.cuh"

// Launch: THREADS threads in a block, sizeof(ring_t) * WARPS bytes of dynamic shared memory,
//         (1, ceil(j / BLOCK_ROWS)) blocks in the grid.  //@ blocks_on_x for 1  //@ blocks_on_y for ceil(j / BLOCK_ROWS)
//@ lines what_z_counts
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
strip(
    #include "parts/parameters.cuh"
{
    extern __shared__ ring_t rings[];

    //@| #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ dependents
    #include "strip/place.cuh"
    ring_t &ring = rings[warp];

    // The lanes copy neighbouring chunks.
    const auto copy = [&](phase_t &into, index_t phase) {
#pragma unroll
        for (int first = 0; first < BLOCK_ROWS * CHUNKS; first += WARP) {
            const int row = (first + lane) / CHUNKS;
            const int chunk = (first + lane) % CHUNKS;
            //@| if (row >= BLOCK_ROWS)  //@ only ragged_m
            //@|     continue;
            const index_t at = (block_row + row) * ld_m + phase + chunk * VECTOR;
            chunk_t *to = &into.M[row][place_of(row, chunk)];
            const bool is_inside = block_row + row < j && phase + chunk * VECTOR < k;  //@ check_j && check_k  //@ only copies_or_zero
            copy_async_or_zero<16>(to, is_inside ? &M[at] : M, is_inside);  //@ only copies_or_zero
            //@| copy_async<16>(to, &M[at]);  //@ only copies_whole
        }
        // The rows of N follow each other without a gap, so that VECTOR of them are COLS chunks.
#pragma unroll
        for (int first = 0; first < CHUNKS * COLS; first += WARP) {
            const int group = (first + lane) / COLS;
            const int chunk = (first + lane) % COLS;
            //@| if (group >= CHUNKS)  //@ only ragged_n
            //@|     continue;
            const index_t at = (phase + group * VECTOR) * COLS + chunk * VECTOR;
            chunk_t *to = &into.N[group][chunk];
            const bool is_inside = phase + group * VECTOR < k;  //@ only check_k
            copy_async_or_zero<16>(to, is_inside ? &N[at] : N, is_inside);  //@ only check_k
            //@| copy_async_or_zero<16>(to, &N[at], true);  //@ only copies_or_zero and not check_k
            //@| copy_async<16>(to, &N[at]);  //@ only copies_whole
        }
    };

    #include "strip/multiply.cuh"

    constexpr int TURN = WARPS * PHASE;  // from one phase of a warp to its next
    const index_t first_phase = warp * PHASE;  //@ first_phase for warp * PHASE
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (first_phase + stage * TURN < k)  //@ k_end for k
            copy(ring.phase[stage], first_phase + stage * TURN);
        commit_copies();
    }
    int current = 0;
    int free = STAGES - 1;
#pragma unroll 1
    for (index_t phase = first_phase; phase < k; phase += TURN) {  //@ k_end for k
        wait_for_copies<STAGES - 2>();
        __syncwarp();  // what all lanes copied is there, and all are done with the phase before
        if (phase + (STAGES - 1) * TURN < k)  //@ k_end for k
            copy(ring.phase[free], phase + (STAGES - 1) * TURN);
        commit_copies();
        multiply(ring.phase[current]);
        free = current;
        current = current + 1 < STAGES ? current + 1 : 0;
    }

    fold<K_LANES / 2>(sum, k_lane);
    __syncwarp();  // all lanes are done with the tiles
#pragma unroll
    for (int i = 0; i < SHARE; ++i)
        ring.sum[i][lane] = sum[i];
    __syncthreads();

    const auto sum_of = [&](int of_warp, int i, int owner) { return rings[of_warp].sum[i][owner]; };
    #include "strip/finish.cuh"  //@ last_part
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
