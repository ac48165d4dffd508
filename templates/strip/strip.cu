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

#include "parts/card.cuh"  //@ include
constexpr int TM = 5;  //@ tm
constexpr int TN = 8;  //@ tn
constexpr int ROW_LANES = 8;  //@ row_lanes
constexpr int COL_LANES = 2;  //@ col_lanes
constexpr int STEPS = 4;  //@ steps
constexpr int WARPS = 4;  //@ warps
constexpr int STAGES = 3;  //@ stages
constexpr int SPLITS = 3;  //@ splits
constexpr int BLOCKS = 1;  //@ blocks
constexpr int WARP = 32;
constexpr int THREADS = WARPS * WARP;
constexpr int VECTOR = 16 / sizeof(input_t);
constexpr int K_LANES = WARP / (ROW_LANES * COL_LANES);
constexpr int BLOCK_ROWS = ROW_LANES * TM;
constexpr int COLS = COL_LANES * TN;  // = l
constexpr int CHUNKS = STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
constexpr int PHASE = CHUNKS * VECTOR;
constexpr int SHARE = (TM * TN + K_LANES - 1) / K_LANES;  // of a thread's sums, which a lane along k has when all are folded

#include "parts/vector.cuh"  //@ include
#include "parts/async.cuh"  //@ include
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

// The lanes along k fold their sums: each keeps one half of them, and gives the other to the lane that keeps that; and so on
// with the half. A template, because a loop whose length depends on another's is not unrolled, and the sums would leave the
// registers.
template <int DISTANCE>
__device__ __forceinline__ void fold(sum_t (&sum)[K_LANES * SHARE], int k_lane)
{
    if constexpr (DISTANCE > 0) {
        const bool is_upper = k_lane & DISTANCE;
#pragma unroll
        for (int i = 0; i < DISTANCE * SHARE; ++i) {
            const sum_t given = is_upper ? sum[i] : sum[i + DISTANCE * SHARE];
            const sum_t kept = is_upper ? sum[i + DISTANCE * SHARE] : sum[i];
            sum[i] = kept + __shfl_xor_sync(0xffffffff, given, DISTANCE);
        }
        fold<DISTANCE / 2>(sum, k_lane);
    }
}

// Launch: THREADS threads in a block, sizeof(ring_t) * WARPS bytes of dynamic shared memory,
//@ if rows_on_y
//         (1, ceil(j / BLOCK_ROWS)) blocks in the grid.
//@ else
//@| //         (ceil(j / BLOCK_ROWS), 1) blocks in the grid.
//@ end
//@ if batched and splits_k
//         blockIdx.z counts the splits of k, of one product of the batch after the other.
//@ elif splits_k
//         blockIdx.z counts the splits of k.
//@ elif batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
strip(  //@ kernel for strip
    #include "parts/parameters.cuh"  //@ include
{
    extern __shared__ ring_t rings[];

    //@ if awaits
    //@| #include "parts/awaits.cuh"  //@ include
    //@ end
    #include "parts/derived.cuh"  //@ include
    #include "parts/product.cuh"  //@ include
    //@ if has_dependents
    //@| #include "parts/dependents.cuh"  //@ include
    //@ end
    //@ if rows_on_y
    const index_t block_row = static_cast<index_t>(blockIdx.y) * BLOCK_ROWS;
    //@ else
    //@| const index_t block_row = static_cast<index_t>(blockIdx.x) * BLOCK_ROWS;
    //@ end
    //@ if splits_k
    //@| const index_t split_k = (k + SPLITS * PHASE - 1) / (SPLITS * PHASE) * PHASE;  // whole phases
    //@| const index_t k_begin = blockIdx.z % SPLITS * split_k;
    //@| const index_t k_end = k_begin + split_k < k ? k_begin + split_k : k;
    //@ end
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    const int k_lane = lane % K_LANES;
    const int row_lane = lane / K_LANES % ROW_LANES;
    const int col_lane = lane / (K_LANES * ROW_LANES);
    ring_t &ring = rings[warp];

    // The lanes copy neighbouring chunks.
    const auto copy = [&](phase_t &into, index_t phase) {
#pragma unroll
        for (int first = 0; first < BLOCK_ROWS * CHUNKS; first += WARP) {
            const int row = (first + lane) / CHUNKS;
            const int chunk = (first + lane) % CHUNKS;
            //@ if ragged_m
            //@| if (row >= BLOCK_ROWS)
            //@|     continue;
            //@ end
            const index_t at = (block_row + row) * ld_m + phase + chunk * VECTOR;
            chunk_t *to = &into.M[row][place_of(row, chunk)];
            //@ if check_j or check_k
            const bool is_inside = block_row + row < j && phase + chunk * VECTOR < k;  //@ check_j && check_k
            copy_async_or_zero<16>(to, is_inside ? &M[at] : M, is_inside);
            //@ else
            //@| copy_async<16>(to, &M[at]);
            //@ end
        }
        // The rows of N follow each other without a gap, so that VECTOR of them are COLS chunks.
#pragma unroll
        for (int first = 0; first < CHUNKS * COLS; first += WARP) {
            const int group = (first + lane) / COLS;
            const int chunk = (first + lane) % COLS;
            //@ if ragged_n
            //@| if (group >= CHUNKS)
            //@|     continue;
            //@ end
            const index_t at = (phase + group * VECTOR) * COLS + chunk * VECTOR;
            chunk_t *to = &into.N[group][chunk];
            //@ if check_k
            const bool is_inside = phase + group * VECTOR < k;
            copy_async_or_zero<16>(to, is_inside ? &N[at] : N, is_inside);
            //@ elif check_j
            //@| copy_async_or_zero<16>(to, &N[at], true);
            //@ else
            //@| copy_async<16>(to, &N[at]);
            //@ end
        }
    };

    sum_t sum[K_LANES * SHARE] = {};  // [r * TN + c], and as many more as make whole shares
    const auto multiply = [&](const phase_t &tile) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const int chunk = step * K_LANES + k_lane;
            chunk_t m[TM];
#pragma unroll
            for (int r = 0; r < TM; ++r)
                m[r] = tile.M[r * ROW_LANES + row_lane][place_of(row_lane, chunk)];
            sum_t m_now[TM];  // elements of one column of M
#pragma unroll
            for (int q = 0; q < TN; ++q) {  // of the chunks that hold the thread's columns of VECTOR rows
                //@ if one_col_lane
                //@| const chunk_t n = tile.N[chunk][q];
                //@ else
                constexpr int WIDE = TN / VECTOR;  // chunks of one row
                const chunk_t n = tile.N[chunk][q / WIDE * (COLS / VECTOR) + col_lane * WIDE + q % WIDE];
                //@ end
#pragma unroll
                for (int e = 0; e < VECTOR; ++e) {
                    const int col = (q * VECTOR + e) % TN, kk = (q * VECTOR + e) / TN;
                    if (col == 0)
#pragma unroll
                        for (int r = 0; r < TM; ++r)
                            m_now[r] = m[r].element[kk];
                    const sum_t n_now = n.element[e];
#pragma unroll
                    for (int r = 0; r < TM; ++r)
                        sum[r * TN + col] += m_now[r] * n_now;
                }
            }
        }
    };

    constexpr int TURN = WARPS * PHASE;  // from one phase of a warp to its next
    //@ if splits_k
    //@| const index_t first_phase = k_begin + warp * PHASE;
    //@ else
    const index_t first_phase = warp * PHASE;
    //@ end
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

    //@ if splits_k
    //@| W += static_cast<long long>(blockIdx.z) * j * l;
    //@ end
    #include "parts/scale.cuh"  //@ include
    // What all warps have of an element of the block: it is in one share, which one lane has.
    const auto total_of = [&](int row, int col) {
        const int place = row / ROW_LANES * TN + col % TN;
        const int owner = (col / TN * ROW_LANES + row % ROW_LANES) * K_LANES + place / SHARE;
        sum_t total = rings[0].sum[place % SHARE][owner];
#pragma unroll
        for (int other = 1; other < WARPS; ++other)
            total += rings[other].sum[place % SHARE][owner];
        return total;
    };
    //@ if reduces
    //@| // The rows of the block are finished at once. What the epilogue makes of them is kept behind the rings.
    //@| constexpr int ROWS_AT_ONCE = BLOCK_ROWS, BLOCK_COLS = COLS, top = 0;
    //@| constexpr index_t block_col = 0;
    //@| const int thread = threadIdx.x;
    //@| using kept_t = float[REDUCTIONS][BLOCK_ROWS * COLS];  //@ real_t for float
    //@| kept_t &kept = reinterpret_cast<kept_t &>(rings[WARPS]);
    //@ if batched
    //@| float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float
    //@ else
    //@| float *const results = W;  //@ real_t for float
    //@ end
    //@ end
#pragma unroll 1
    //@ if pairs and not splits_k
    //@| for (int e = 2 * threadIdx.x; e < BLOCK_ROWS * COLS; e += 2 * THREADS) {
    //@ else
    for (int e = threadIdx.x; e < BLOCK_ROWS * COLS; e += THREADS) {
    //@ end
        const index_t Row = block_row + e / COLS;
        const index_t Col = e % COLS;
        //@ if check_j and not reduces
        if (Row >= j)
            break;
        //@ end
        sum_t Pvalue = total_of(e / COLS, e % COLS);
        //@ if pairs and not splits_k
        //@| sum_t beside = total_of(e / COLS, e % COLS + 1);  // of the next column
        //@ end
        //@ if reduces
        //@ lines reduction_starts
        //@ if check_j
        //@| if (Row < j) {
        //@ else
        //@| {
        //@ end
        //@|     #include "parts/epilogue.cuh"  //@ include
        //@| }
        //@ lines element_kept
        //@ elif splits_k and p_row_major
        //@| W[Row * l + Col] = Pvalue;
        //@ elif splits_k
        //@| W[Col * j + Row] = Pvalue;
        //@ else
        #include "parts/epilogue.cuh"  //@ include
        //@ end
    }
    //@ if reduces
    //@| // reduce: warps combine what is kept of each row, and threads what is kept of each column.
    //@| __syncthreads();
    //@ if reduces_rows
    //@| constexpr long long row_slot = 0;  // a block has all of a row
    //@ end
    //@ if reduces_cols
    //@| const long long col_slot = block_row / BLOCK_ROWS;
    //@ end
    //@ lines rows_found
    //@ end
}
//@ if splits_k

#include "parts/reduce.cuh"  //@ include
//@ end
//@ if reduces
//@| #include "parts/combine.cuh"  //@ include
//@ end
