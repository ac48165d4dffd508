// j512 k5000 l7 f32 alpha beta
//
//     P (7 x 512) = alpha * M (7 x 5000) . N (5000 x 512) + beta * C
//
// This text computes the transpose, P^T = N^T . M^T, so that j is the shorter side: its M is the caller's N, its
// N the caller's M, and j and l have changed places.
//
// P has few rows, so an element of N serves few multiply-adds, and the time is that of reading N once.
// Every element of N goes from global memory straight into the registers of the one thread that needs
// it; enough loads are under way at any time to keep the memory busy. Only the few rows of M, which
// all columns need, pass through shared memory.
//
//                     BLOCK_COLS columns
//                 lane 0  lane 1  ...        A block has LANES * SLICES threads. A thread computes
//               +-------+-------+----+       TM rows by TN columns of P, over its slice of k. The
//       slice 0 |       |       |    |       slices stand side by side within a phase of PHASE
//               +-------+-------+----+       elements, so that neighbouring threads load
//       slice 1 |       |       |    |       neighbouring elements.
//               +-------+-------+----+
//         ...   |       |  N    |    |  k    In the end the slices' sums are added up, as a tree, in
//               +-------+-------+----+       shared memory.

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 7;
constexpr index_t k = 5000;
constexpr index_t l = 512;
constexpr index_t ld_m = j;
constexpr index_t ld_n = k;
constexpr index_t ld_p = j;
constexpr index_t ld_c = j;
constexpr int TM = 7;
constexpr int TN = 4;
constexpr int LANES = 16;
constexpr int SLICES = 16;
constexpr int VECTOR = 4;
constexpr int RUN = 4;
constexpr int K_THREAD = 4;
constexpr int SPLITS = 8;
constexpr int BLOCKS = 1;
constexpr int THREADS = LANES * SLICES;
constexpr int BLOCK_COLS = LANES * TN;
constexpr int PHASE = SLICES * K_THREAD;
constexpr int M_SHARE = (TM * PHASE + THREADS - 1) / THREADS;  // of a phase's tile of M, for each thread to load
constexpr int PADDING = 4;  // of a row of that tile, which keeps the runs aligned
constexpr int ROWS_AT_ONCE = 7;
constexpr int OUTPUTS = ROWS_AT_ONCE * BLOCK_COLS;

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

// The tiles of M, this phase's and the next one's; when they are done with, the slices' sums.
union shared_t {
    sum_t Mds[2][TM][PHASE + PADDING];
    sum_t partial[SLICES][OUTPUTS + 1];  // + 1: neighbouring threads are neighbouring slices, and store into other banks
};

// Launch: THREADS threads in a block,
//         (ceil(j / TM), ceil(l / BLOCK_COLS)) blocks in the grid.
//         blockIdx.z counts the splits of k.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
skinny_f32_512x5000x7(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product
{
    __shared__ __align__(16) shared_t shared;

    // This kernel may have started beside the one ahead, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The kernel behind this one may get ready from now on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    // This block's part of P begins here.
    const index_t block_row = static_cast<index_t>(blockIdx.x) * TM;
    const index_t block_col = static_cast<index_t>(blockIdx.y) * BLOCK_COLS;
    const index_t split_k = (k + SPLITS * PHASE - 1) / (SPLITS * PHASE) * PHASE;  // whole phases
    const index_t k_begin = blockIdx.z % SPLITS * split_k;
    const index_t k_end = k_begin + split_k < k ? k_begin + split_k : k;

    const int thread = threadIdx.x;
    const int lane = thread / SLICES;
    const int slice = thread % SLICES;  // neighbouring threads stand along k, which N's columns lie along

    // Element i of this thread's share of a phase: its slice holds runs of RUN, SLICES * RUN apart.
    const auto k_of = [&](int i) { return i / RUN * (SLICES * RUN) + slice * RUN + i % RUN; };
    // Column c of this thread, of the BLOCK_COLS.
    const auto col_of = [&](int c) { return c * LANES + lane; };

    input_t m_next[M_SHARE];
    input_t n_next[K_THREAD][TN];
    const auto load = [&](index_t phase) {
        // This thread's share of N: nobody else needs it.
#pragma unroll
        for (int v = 0; v < K_THREAD * TN / VECTOR; ++v) {
            const int i = v % (K_THREAD / VECTOR) * VECTOR;
            const int c = v / (K_THREAD / VECTOR);
            const index_t kk = phase + k_of(i);
            const index_t col = block_col + col_of(c);
            const index_t at = col * ld_n + kk;
            vector_t<input_t, VECTOR> n = {};  // zero, which adds nothing, beyond the edge
            if (kk < k_end)
                n = read<VECTOR>(&N[at]);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                n_next[i + e][c] = n.element[e];
        }
        // Its share of M, for everyone.
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            const index_t row = block_row + e % TM;
            const index_t kk = phase + e / TM;
            const index_t at = kk * ld_m + row;
            if (e >= TM * PHASE)
                continue;
            m_next[i] = kk < k_end ? M[at] : input_t{};
        }
    };

    sum_t sum[TM][TN] = {};
    int stage = 0;
    if (k_begin < k_end)
        load(k_begin);
    for (index_t phase = k_begin; phase < k_end; phase += PHASE) {
        // What was loaded is this phase's now. The other half of shared memory is still being read.
        stage = 1 - stage;
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            if (e >= TM * PHASE)
                continue;
            shared.Mds[stage][e % TM][e / TM] = m_next[i];
        }
        sum_t n[K_THREAD][TN];
#pragma unroll
        for (int i = 0; i < K_THREAD; ++i)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                n[i][c] = n_next[i][c];
        __syncthreads();  // the tile of M is complete, and everyone is done with the last but one

        if (phase + PHASE < k_end)
            load(phase + PHASE);
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            sum_t m[K_THREAD];
#pragma unroll
            for (int i = 0; i < K_THREAD; ++i)
                m[i] = shared.Mds[stage][r][k_of(i)];
#pragma unroll
            for (int i = 0; i < K_THREAD; ++i)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += m[i] * n[i][c];
        }
    }

    // The slices' sums become one, ROWS_AT_ONCE rows at a time.
    W += static_cast<long long>(blockIdx.z) * j * l;
#pragma unroll
    for (int top = 0; top < TM; top += ROWS_AT_ONCE) {
        __syncthreads();  // everyone is done with what lies there
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; ++r)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                shared.partial[slice][r * BLOCK_COLS + col_of(c)] = sum[top + r][c];
        __syncthreads();
        for (int half = SLICES / 2; half > 0; half /= 2) {
            for (int e = thread; e < half * OUTPUTS; e += THREADS)
                shared.partial[e / OUTPUTS][e % OUTPUTS] += shared.partial[half + e / OUTPUTS][e % OUTPUTS];
            __syncthreads();
        }
        for (int e = thread; e < OUTPUTS; e += THREADS) {
            const index_t Row = block_row + top + e / BLOCK_COLS;
            const index_t Col = block_col + e % BLOCK_COLS;
            sum_t Pvalue = shared.partial[0][e];
            W[Col * j + Row] = Pvalue;
        }
    }
}

// The second kernel: it adds up the SPLITS partial sums of each element of P, always in the same order.
// A block serves REDUCE_ELEMENTS neighbouring elements; REDUCE_GROUPS threads share the splits of each.
constexpr int REDUCE_GROUPS = 2;
constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_ELEMENTS = REDUCE_THREADS / REDUCE_GROUPS;

// Launch: REDUCE_THREADS threads in a block,
//         (ceil(j * l / REDUCE_ELEMENTS), 1) blocks in the grid.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
reduce_f32_512x5000x7(
    sum_t alpha,
    sum_t beta,
    const sum_t *__restrict__ W,
    const output_t *C,  // may be P itself
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
    const index_t Row = element % j;
    const index_t Col = element / j;
    Pvalue *= alpha;
    if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
        Pvalue += beta * C[Col * ld_c + Row];
    P[Col * ld_p + Row] = static_cast<output_t>(Pvalue);
}
