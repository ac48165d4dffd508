// j256 k4096 l256 f32 P:col scale_m:each scale_n alpha
//
//     P (256 x 256) = alpha * scale_m * M (256 x 4096) . N (4096 x 256) * scale_n
//
// The caller's P is column-major. In memory that is its transpose, row-major, so this text computes the product of
// the transposes: its M is the caller's N, its N the caller's M, and j and l have changed places.
//
// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in registers.
// The k dimension is walked in phases of BK, in four steps:
//
//                            BN
//                       +-----------+     copy      the tiles of a phase, from global memory past the registers into
//                    BK |  phase 0  |               one of STAGES places in shared memory: STAGES - 1 phases ahead
//                N      +-----------+     load      the elements of one step of k, from there into registers: one
//                    BK |  phase 1  |               step ahead, into the other half of m and n
//        M              +-----------+     multiply  the elements of one step, and add up the products
//    BK      BK               :           store     the sums, in the end
// +-------+-------+     +-----------+
// |phase 0|phase 1| ... | tile of P | BM
// +-------+-------+     +-----------+

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 256;
constexpr index_t k = 4096;
constexpr index_t l = 256;
constexpr index_t ld_m = j;
constexpr index_t ld_n = k;
constexpr index_t ld_p = l;
constexpr int BM = 64;
constexpr int BN = 128;
constexpr int BK = 16;
constexpr int TM = 8;
constexpr int TN = 8;
constexpr int VEC = 16 / sizeof(sum_t);  // elements of one 16-byte access to shared memory
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int TILE_THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
constexpr int THREADS = TILE_THREADS;
constexpr int BLOCKS = 4;
constexpr int P_VECTOR = 4;  // elements that one instruction stores
constexpr int SPLITS = 4;
constexpr int STAGES = 3;
constexpr int STEPS = BK;  // of a phase

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

// What one phase needs. Both tiles are stored k by k: a row holds the elements of one step.
struct __align__(16) phase_t {
    sum_t M[BK][BM];
    sum_t N[BK][BN + VEC];  // VEC more: elements that are neighbours along k are stored into other banks
};

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_f32_256x4096x256(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product
{
    extern __shared__ phase_t tiles[];

    // This kernel may have started beside the one ahead, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The kernel behind this one may get ready from now on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    // This block's part of k, in whole phases; the last may be short, or empty.
    const index_t split = (k + SPLITS * BK - 1) / (SPLITS * BK) * BK;
    const index_t k_begin = blockIdx.z % SPLITS * split;
    const index_t k_steps = min(split, k - k_begin);
    const index_t phases = (k_steps + BK - 1) / BK;
    M += k_begin * ld_m;
    N += k_begin;

    // The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,
    // the next are 4 * VEC rows or 8 * VEC columns further.
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    constexpr int M_WIDTH = 4;
    constexpr int M_ROWS = 64;
    constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
    const int m_kk = thread / (M_ROWS / M_WIDTH);
    const int m_row = thread % (M_ROWS / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[m_kk * ld_m + block_row + m_row];
    constexpr int N_WIDTH = 1;
    constexpr int N_RUN = 16;  // threads that copy neighbours along k, which go to different rows of the tile
    constexpr int N_COLS = THREADS / N_RUN < BN ? THREADS / N_RUN : BN;
    constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
    const int n_col = thread / N_RUN % N_COLS;
    const int n_kk = (thread / (N_RUN * N_COLS) * N_RUN + thread % N_RUN) * N_WIDTH;
    const input_t *n_from = &N[(block_col + n_col) * ld_n + n_kk];

    // copy: the tiles of a phase.
    const auto copy = [&](phase_t &into) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                const input_t *from = &m_from[kk * ld_m + row];
                sum_t *to = &into.M[m_kk + kk][m_row + row];
                copy_async<M_WIDTH * sizeof(input_t)>(to, from);
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                const input_t *from = &n_from[col * ld_n + kk];
                sum_t *to = &into.N[n_kk + kk][n_col + col];
                copy_async<N_WIDTH * sizeof(input_t)>(to, from);
            }
        }
        m_from += BK * ld_m;
        n_from += BK;
    };

    // load: one step's elements for this thread's rows and columns.
    sum_t m[2][TM], n[2][TN];
    const auto load = [&](const phase_t &from, int step) {
#pragma unroll
        for (int r = 0; r < TM; r += VEC) {
            const auto value = read<VEC>(&from.M[step][thread_row + r / VEC * (4 * VEC)]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                m[step % 2][r + i] = value.element[i];
        }
#pragma unroll
        for (int c = 0; c < TN; c += VEC) {
            const auto value = read<VEC>(&from.N[step][thread_col + c / VEC * (8 * VEC)]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                n[step % 2][c + i] = value.element[i];
        }
    };

    // multiply: one step's products, added to the thread's sums.
    sum_t sum[TM][TN] = {};
    const auto multiply = [&](int step) {
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int i = 0; i < TN; ++i) {
                // To and fro, so that an operand in two neighbouring sums is read once: column i, TN - 1 - i in odd rows.
                const int c = r % 2 * (TN - 1 - 2 * i) + i;
                sum[r][c] += m[step % 2][r] * n[step % 2][c];
            }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < phases)
            copy(tiles[s]);
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();

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
            if (step == 0) {
                if (phase + STAGES - 1 < phases)
                    copy(tiles[free]);
                commit_copies();
            }
            multiply(step);
        }
        free = current;
        current = next;
    }

    // store: what this block's part of k brings. The second kernel adds it to what the other parts bring.
    W += static_cast<long long>(blockIdx.z) * j * l;
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / VEC * (4 * VEC) + r % VEC;
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
            vector_t<sum_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i)
                value.element[i] = sum[r][c + i];
            reinterpret_cast<vector_t<sum_t, P_VECTOR> &>(W[Row * l + Col]) = value;
        }
    }
}

// The second kernel: it adds up the SPLITS partial sums of each element of P, always in the same order.
// A block serves REDUCE_ELEMENTS neighbouring elements; REDUCE_GROUPS threads share the splits of each.
constexpr int REDUCE_GROUPS = 1;
constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_ELEMENTS = REDUCE_THREADS / REDUCE_GROUPS;

// Launch: REDUCE_THREADS threads in a block,
//         (ceil(j * l / REDUCE_ELEMENTS), 1) blocks in the grid.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
reduce_f32_256x4096x256(
    sum_t alpha,
    const float *__restrict__ scale_m,
    const float *__restrict__ scale_n,
    const sum_t *__restrict__ W,
    output_t *P)
{
    __shared__ sum_t partial[REDUCE_GROUPS][REDUCE_ELEMENTS];
    const int group = threadIdx.x / REDUCE_ELEMENTS;
    const int place = threadIdx.x % REDUCE_ELEMENTS;
    const index_t element = static_cast<index_t>(blockIdx.x) * REDUCE_ELEMENTS + place;
    const long long matrix = static_cast<long long>(j) * l;  // from one split to the next

    // This kernel may have started beside the first one, whose sums it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

    sum_t Pvalue = 0;
    if (element < j * l) {
#pragma unroll 8
        for (int split = group; split < SPLITS; split += REDUCE_GROUPS)
            Pvalue += W[split * matrix + element];
    }
    partial[group][place] = Pvalue;
    __syncthreads();
    if (group > 0 || element >= j * l)
        return;
#pragma unroll
    for (int other = 1; other < REDUCE_GROUPS; ++other)
        Pvalue += partial[other][place];

    // W lies as P does.
    const index_t Row = element / l;
    const index_t Col = element % l;
    Pvalue *= *scale_m;
    Pvalue *= scale_n[Col];
    Pvalue *= alpha;
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
