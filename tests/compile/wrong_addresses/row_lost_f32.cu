// j22 k31 l=any f32 M:col N:col ld_m=26
//
//     P (22 x l) = M (22 x 31) . N (31 x l)
//
// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK. Shared memory holds the tiles of STAGES phases:
// while one is multiplied, the others are on their way from global memory, past the registers.
//
// Within a phase, the threads read one step of k ahead as well: while the products of a step are summed,
// the elements of the next step come from shared memory into the other half of m and n.

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = long long;  // an offset may pass the largest int

constexpr index_t j = 22;
constexpr index_t k = 31;
constexpr index_t ld_m = 26;
constexpr index_t ld_n = k;
constexpr int BM = 256;
constexpr int BN = 128;
constexpr int BK = 8;
constexpr int TM = 8;
constexpr int TN = 4;
constexpr int VEC = 16 / sizeof(sum_t);  // elements of one 16-byte access to shared memory
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int TILE_THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
constexpr int THREADS = TILE_THREADS;
constexpr int BLOCKS = 1;
constexpr int STAGES = 3;
constexpr int STEPS = BK;  // of a phase
constexpr int PIECES = STEPS / 4;  // of a phase's copies: one is started every second step, in the first half of a phase

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

// What is not wanted becomes zero, and is not read.
template <int BYTES>
__device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool is_wanted)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int bytes = is_wanted ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(bytes));
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

// What one phase needs. Both tiles are stored k by k: a row holds the elements of one step.
struct __align__(16) phase_t {
    sum_t M[BK][BM];
    sum_t N[BK][BN + VEC];  // VEC more: elements that are neighbours along k are stored into other banks
};

// What one instruction loads from shared memory, or stores.
struct __align__(VEC * sizeof(sum_t)) sum_vector_t {
    sum_t element[VEC];
};

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_f32_22x31xl(
    int l,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    extern __shared__ phase_t tiles[];

    const index_t ld_p = l;

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t k_steps = k;

    // The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,
    // the next are 4 * VEC rows or 8 * VEC columns further.
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    // Started all at once, they would hold up the reads of shared memory that come after them.
    constexpr int M_WIDTH = 2;
    constexpr int M_ROWS = 256;
    constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
    const int m_kk = thread / (M_ROWS / M_WIDTH);
    const int m_row = thread % (M_ROWS / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[m_kk * ld_m + block_row + m_row];
    constexpr int N_WIDTH = 1;
    constexpr int N_RUN = 8;  // threads that copy neighbours along k, which go to different rows of the tile
    constexpr int N_COLS = THREADS / N_RUN < BN ? THREADS / N_RUN : BN;
    constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
    const int n_col = thread / N_RUN % N_COLS;
    const int n_kk = (thread / (N_RUN * N_COLS) * N_RUN + thread % N_RUN) * N_WIDTH;
    const input_t *n_from = &N[(block_col + n_col) * ld_n + n_kk];
    const index_t rows_left = j - block_row - m_row;
    const index_t cols_left = l - block_col - n_col;

    // The first phase takes what is no multiple of BK, so that all others are whole.
    const index_t first_steps = (k_steps - 1) % BK + 1;

    const auto start_copies = [&](phase_t &into, bool is_first, int piece) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                if ((kk * BM + row * M_STEPS) * PIECES / (BK * BM) != piece)
                    continue;
                const input_t *from = &m_from[kk * ld_m + row];
                sum_t *to = &into.M[m_kk + kk][m_row + row];
                copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, from, row < rows_left && (!is_first || m_kk + kk < first_steps));
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                if ((kk * BN + col * N_STEPS) * PIECES / (BK * BN) != piece)
                    continue;
                const input_t *from = &n_from[col * ld_n + kk];
                sum_t *to = &into.N[n_kk + kk][n_col + col];
                copy_async_or_zero<N_WIDTH * sizeof(input_t)>(to, from, col < cols_left && (!is_first || n_kk + kk < first_steps));
            }
        }
        if (piece < PIECES - 1)
            return;
        const index_t steps = is_first ? first_steps : BK;
        m_from += steps * ld_m;
        n_from += steps;
    };

    // One step's elements for this thread's rows and columns.
    sum_t m[2][TM], n[2][TN];
    const auto load = [&](const phase_t &from, int step) {
        const int kk = step;
#pragma unroll
        for (int r = 0; r < TM; r += VEC) {
            const sum_vector_t value = reinterpret_cast<const sum_vector_t &>(from.M[kk][thread_row + r / VEC * (4 * VEC)]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                m[step % 2][r + i] = value.element[i];
        }
#pragma unroll
        for (int c = 0; c < TN; c += VEC) {
            const sum_vector_t value = reinterpret_cast<const sum_vector_t &>(from.N[kk][thread_col + c / VEC * (8 * VEC)]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                n[step % 2][c + i] = value.element[i];
        }
    };

    const index_t phases = (k_steps + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
            if (s < phases)
                start_copies(tiles[s], s == 0, piece);
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();

    sum_t Pvalue[TM][TN] = {};
    int current = 0;        // the stage that is multiplied
    int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
    if (phases > 0)
        load(tiles[0], 0);
    for (index_t phase = 0; phase < phases; ++phase) {
        const int next = current + 1 < STAGES ? current + 1 : 0;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step + 1 < STEPS) {
                load(tiles[current], step + 1);
            } else if (phase + 1 < phases) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
                load(tiles[next], 0);
            }
            if (step % 2 == 0 && step / 2 < PIECES) {
                if (phase + STAGES - 1 < phases)
                    start_copies(tiles[free], false, step / 2);
                if (step / 2 == PIECES - 1)
                    commit_copies();
            }
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int i = 0; i < TN; ++i) {
                    // To and fro, so that an operand in two neighbouring sums is read once: column i, TN - 1 - i in odd rows.
                    const int c = r % 2 * (TN - 1 - 2 * i) + i;
                    Pvalue[r][c] += m[step % 2][r] * n[step % 2][c];
                }
        }
        free = current;
        current = next;
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / VEC * (4 * VEC) + r % VEC;
        if (Row >= j)
            break;  // rows of a thread only grow
        #pragma unroll
        for (int c = 0; c < TN; ++c) {
            const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
            if (Col >= l)
                break;
            P[Row * ld_p + Col] = static_cast<output_t>(Pvalue[r][c]);
        }
    }
}
