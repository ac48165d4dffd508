// j2560 k2560 l16 f32
//
//     P (2560 x 16) = M (2560 x 2560) . N (2560 x 16)
//
// P is a strip of few columns. Its time is that of reading M once, which the copy engine does best: one warp of a block has it bring
// boxes of M and N, a phase of PHASE elements of k after the other, into a ring of STAGES. The other WARPS multiply them. Two
// barriers for each place of the ring keep them together:
//
//                 brings                            multiplies
//        wait      empty: all have multiplied        full: the boxes are there
//                  what was there before
//        do        copy the boxes of a phase         multiply them
//        arrive    full, with the last byte          empty
//
//                      COLS                    Each warp has its own part of a phase. Its lanes stand K_LANES along k, ROW_LANES
//                    +------+                  along the rows of P and COL_LANES along its columns:
//         N   PHASE  |      |
//                    +------+                      lane = (col_lane * ROW_LANES + row_lane) * K_LANES + k_lane
//             PHASE  |      |
//    M               +------+                  Each reads VECTOR steps of k at once, 16 bytes, for TM rows ROW_LANES apart and
//  PHASE  PHASE         :                      TN neighbouring columns. In the end the lanes along k fold their sums by
// +------+------+    +------+                  shuffles, and the block adds up those of its warps.
// |      |      | .. |      | BLOCK_ROWS
// +------+------+    +------+

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 2560;
constexpr index_t k = 2560;
constexpr index_t l = 16;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TM = 10;
constexpr int TN = 8;
constexpr int ROW_LANES = 2;
constexpr int COL_LANES = 2;
constexpr int STEPS = 1;
constexpr int WARPS = 4;
constexpr int STAGES = 5;
constexpr int SPLITS = 1;
constexpr int BLOCKS = 1;
constexpr int WARP = 32;
constexpr int THREADS = (WARPS + 1) * WARP;
constexpr int VECTOR = 16 / sizeof(input_t);
constexpr int K_LANES = WARP / (ROW_LANES * COL_LANES);
constexpr int BLOCK_ROWS = ROW_LANES * TM;
constexpr int COLS = COL_LANES * TN;  // = l
constexpr int CHUNKS = WARPS * STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
constexpr int PHASE = CHUNKS * VECTOR;
constexpr int SHARE = (TM * TN + K_LANES - 1) / K_LANES;  // of a thread's sums, which a lane along k has when all are folded
constexpr int LINE = 8;  // chunks of 128 bytes, as many as the engine swizzles
constexpr int BOXES = (COLS + LINE - 1) / LINE;  // of N

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

// Barriers in shared memory (mbarrier). A phase of one ends when as many have arrived as it was made for, and all bytes are there that
// were announced. Phases take turns as 0 and 1: who waits says which one is to end.
using barrier_t = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void make_barrier(barrier_t &barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// What was made is there for the copy engine too.
__device__ __forceinline__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrive, and announce so many bytes that copies will bring.
__device__ __forceinline__ void arrive_and_expect(barrier_t &barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(barrier_t &barrier, int phase)
{
    asm volatile(
        "{\n"
        ".reg .pred is_over;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 is_over, [%0], %1;\n"
        "@!is_over bra again;\n"
        "}" ::"r"(shared_address(&barrier)), "r"(phase) : "memory");
}

// Copies of boxes out of a matrix that a tensor map describes, past the registers and threads (TMA). What lies outside the matrix
// becomes zero. The bytes that arrive are counted by a barrier.
struct alignas(128) tensor_map_t {
    unsigned char bytes[128];
};

__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)) : "memory");
}

using chunk_t = vector_t<input_t, VECTOR>;

// What one phase needs. The lanes along k read 128 neighbouring bytes of a row of M, so rows may begin at the same bank. The rows of N
// follow each other without a gap, so that VECTOR of them are one line of COLS chunks, which comes in as many boxes as it has 128 bytes.
struct __align__(1024) phase_t {
    chunk_t N[BOXES][CHUNKS][LINE];
    chunk_t M[BLOCK_ROWS][CHUNKS];
};
struct shared_t {
    phase_t phase[STAGES];
    barrier_t full[STAGES];   // its boxes have come
    barrier_t empty[STAGES];  // nobody needs them any more
    sum_t sum[WARPS][SHARE][WARP + 1];  // of each warp in the end; + 1: a lane's sums lie in different banks
};

__device__ __forceinline__ chunk_t m_of(const phase_t &tile, int r, int row_lane, int chunk)
{
    return tile.M[r * ROW_LANES + row_lane][chunk];
}

// In each of eight lines the engine has put a chunk elsewhere: the lanes along k, which read it at once, meet in no bank.
__device__ __forceinline__ chunk_t n_of(const phase_t &tile, int line, int chunk)
{
    return tile.N[chunk / LINE][line][chunk % LINE ^ line % LINE];
}

// The kernel reads its tensor maps soon.
__device__ __forceinline__ void fetch_map(const tensor_map_t &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
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

// Launch: THREADS threads in a block, sizeof(shared_t) bytes of dynamic shared memory,
//         (ceil(j / BLOCK_ROWS), 1) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
strip_f32_2560x2560x16(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    output_t *__restrict__ P)
{
    extern __shared__ shared_t shared[];
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;

    if (threadIdx.x == 0) {
        fetch_map(M_map);
        fetch_map(N_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full[stage], 1);
            make_barrier(empty[stage], WARPS);  // a lane of each arrives
        }
        publish_barriers();
    }
    __syncthreads();
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
    const int phases = (k + PHASE - 1) / PHASE;
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&] {
        if (++stage == STAGES) {
            stage = 0;
            turn ^= 1;
        }
    };

    if (threadIdx.x == WARPS * WARP) {  // one thread starts all copies
#pragma unroll 1
        for (int phase = 0; phase < phases; ++phase) {
            const int kk = phase * PHASE;
            phase_t &tile = shared->phase[stage];
            wait(empty[stage], turn ^ 1);  // what is new counts as empty
            arrive_and_expect(full[stage], sizeof tile.M + sizeof tile.N);
            copy_box(&tile.M, M_map, kk, block_row, full[stage]);
#pragma unroll
            for (int box = 0; box < BOXES; ++box)
                copy_box(&tile.N[box], N_map, box * LINE * VECTOR, kk / VECTOR, full[stage]);
            pass();
        }
    } else if (warp < WARPS) {
        sum_t sum[K_LANES * SHARE] = {};  // [r * TN + c], and as many more as make whole shares
        const auto multiply = [&](const phase_t &tile) {
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const int chunk = (step * WARPS + warp) * K_LANES + k_lane;
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
#pragma unroll 1
        for (int phase = 0; phase < phases; ++phase) {
            wait(full[stage], turn);
            multiply(shared->phase[stage]);
            __syncwarp();  // all lanes are done with it
            if (lane == 0)
                arrive(empty[stage]);
            pass();
        }

        fold<K_LANES / 2>(sum, k_lane);
#pragma unroll
        for (int i = 0; i < SHARE; ++i)
            shared->sum[warp][i][lane] = sum[i];
    }
    __syncthreads();

    const auto sum_of = [&](int of_warp, int i, int owner) { return shared->sum[of_warp][i][owner]; };
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
