// j1760 k1760 l16 f32
//
//     P (1760 x 16) = M (1760 x 1760) . N (1760 x 16)
//
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

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 1760;
constexpr index_t k = 1760;
constexpr index_t l = 16;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TM = 5;
constexpr int TN = 8;
constexpr int ROW_LANES = 8;
constexpr int COL_LANES = 2;
constexpr int STEPS = 4;
constexpr int WARPS = 4;
constexpr int STAGES = 3;
constexpr int SPLITS = 1;
constexpr int BLOCKS = 1;
constexpr int WARP = 32;
constexpr int THREADS = WARPS * WARP;
constexpr int VECTOR = 16 / sizeof(input_t);
constexpr int K_LANES = WARP / (ROW_LANES * COL_LANES);
constexpr int BLOCK_ROWS = ROW_LANES * TM;
constexpr int COLS = COL_LANES * TN;  // = l
constexpr int CHUNKS = STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
constexpr int PHASE = CHUNKS * VECTOR;
constexpr int SHARE = (TM * TN + K_LANES - 1) / K_LANES;  // of a thread's sums, which a lane along k has when all are folded

// Neighbouring elements, as one instruction takes them.
template <typename element_t, int COUNT>
struct alignas(COUNT * sizeof(element_t)) vector_t {
    element_t element[COUNT];
};

template <int COUNT, typename element_t>
__device__ __forceinline__ vector_t<element_t, COUNT> read(const element_t *from)
{
    return *reinterpret_cast<const vector_t<element_t, COUNT> *>(from);
}

// Copies from global to shared memory past the registers (sm_80 and newer): a thread starts them, commits them as one group,
// and goes on; it waits for a group before it reads what the group brought.

template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES));
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;");
}

// Until at most this many groups, the latest ones, are still under way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS));
}

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
//         (ceil(j / BLOCK_ROWS), 1) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
strip_f32_1760x1760x16(
    const input_t *M,
    const input_t *N,
    output_t *__restrict__ P)
{
    extern __shared__ ring_t rings[];

    // This kernel may have started before the previous one has ended, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    const index_t block_row = static_cast<index_t>(blockIdx.x) * BLOCK_ROWS;
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
            const index_t at = (block_row + row) * ld_m + phase + chunk * VECTOR;
            chunk_t *to = &into.M[row][place_of(row, chunk)];
            copy_async<16>(to, &M[at]);
        }
        // The rows of N follow each other without a gap, so that VECTOR of them are COLS chunks.
#pragma unroll
        for (int first = 0; first < CHUNKS * COLS; first += WARP) {
            const int group = (first + lane) / COLS;
            const int chunk = (first + lane) % COLS;
            const index_t at = (phase + group * VECTOR) * COLS + chunk * VECTOR;
            chunk_t *to = &into.N[group][chunk];
            copy_async<16>(to, &N[at]);
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
                m[r] = m_of(tile, r, row_lane, chunk);
            sum_t m_now[TM];  // elements of one column of M
#pragma unroll
            for (int q = 0; q < TN; ++q) {  // of the chunks that hold the thread's columns of VECTOR rows
                constexpr int WIDE = TN / VECTOR;  // chunks of one row
                const int place = q / WIDE * (COLS / VECTOR) + col_lane * WIDE + q % WIDE;
                const chunk_t n = n_of(tile, chunk, place);
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
    const index_t first_phase = warp * PHASE;
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (first_phase + stage * TURN < k)
            copy(ring.phase[stage], first_phase + stage * TURN);
        commit_copies();
    }
    int current = 0;
    int free = STAGES - 1;
#pragma unroll 1
    for (index_t phase = first_phase; phase < k; phase += TURN) {
        wait_for_copies<STAGES - 2>();
        __syncwarp();  // what all lanes copied is there, and all are done with the phase before
        if (phase + (STAGES - 1) * TURN < k)
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
    // What all warps have of an element of the block: it is in one share, which one lane has.
    const auto total_of = [&](int row, int col) {
        const int place = row / ROW_LANES * TN + col % TN;
        const int owner = (col / TN * ROW_LANES + row % ROW_LANES) * K_LANES + place / SHARE;
        sum_t total = sum_of(0, place % SHARE, owner);
#pragma unroll
        for (int other = 1; other < WARPS; ++other)
            total += sum_of(other, place % SHARE, owner);
        return total;
    };
#pragma unroll 1
    for (int e = threadIdx.x; e < BLOCK_ROWS * COLS; e += THREADS) {
        const index_t Row = block_row + e / COLS;
        const index_t Col = e % COLS;
        sum_t Pvalue = total_of(e / COLS, e % COLS);
        P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
    }
}
