// j3 k=any l101 bf16 P:f32 batch=5
//
//     P (3 x 101) = M (3 x k) . N (k x 101)
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

// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    // As halves of a register: shifted as an integer, the compiler keeps what is yet to be converted in registers of 32 bits.
    __device__ operator float() const
    {
        float value;
        asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<unsigned short>(0)), "h"(bits));
        return value;
    }
};

using input_t = bfloat16;
using output_t = float;
using sum_t = float;
using index_t = long long;  // an offset may pass the largest int

constexpr index_t j = 3;
constexpr index_t l = 101;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr long long stride_p = 303;
constexpr int TM = 3;
constexpr int TN = 4;
constexpr int LANES = 32;
constexpr int SLICES = 8;
constexpr int VECTOR = 1;
constexpr int RUN = 8;
constexpr int K_THREAD = 8;
constexpr int SPLITS = 32;
constexpr int BLOCKS = 1;
constexpr int THREADS = LANES * SLICES;
constexpr int BLOCK_COLS = LANES * TN;
constexpr int PHASE = SLICES * K_THREAD;
constexpr int M_SHARE = (TM * PHASE + THREADS - 1) / THREADS;  // of a phase's tile of M, for each thread to load
constexpr int PADDING = 4;  // of a row of that tile, which keeps the runs aligned
constexpr int ROWS_AT_ONCE = 3;
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
    sum_t partial[SLICES][OUTPUTS];
};

// Launch: THREADS threads in a block,
//         (ceil(j / TM), ceil(l / BLOCK_COLS)) blocks in the grid.
//         blockIdx.z counts the splits of k, of one product of the batch after the other.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
skinny_bf16_3xkx101(
    int k,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product
{
    __shared__ __align__(16) shared_t shared;

    const index_t ld_m = k;
    const long long stride_m = ld_m * j;
    const long long stride_n = ld_n * k;

    // The product of the batch that this block works on.
    M += blockIdx.z / SPLITS * stride_m;
    N += blockIdx.z / SPLITS * stride_n;

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
    const int lane = thread % LANES;  // neighbouring threads stand along the columns, which lie side by side in N
    const int slice = thread / LANES;

    // Element i of this thread's share of a phase: its slice holds runs of RUN, SLICES * RUN apart.
    const auto k_of = [&](int i) { return i / RUN * (SLICES * RUN) + slice * RUN + i % RUN; };
    // Column c of this thread, of the BLOCK_COLS.
    const auto col_of = [&](int c) { return c / VECTOR * (LANES * VECTOR) + lane * VECTOR + c % VECTOR; };

    input_t m_next[M_SHARE];
    input_t n_next[K_THREAD][TN];
    const auto load = [&](index_t phase) {
        // This thread's share of N: nobody else needs it.
#pragma unroll
        for (int v = 0; v < K_THREAD * TN / VECTOR; ++v) {
            const int i = v / (TN / VECTOR);
            const int c = v % (TN / VECTOR) * VECTOR;
            const index_t kk = phase + k_of(i);
            const index_t col = block_col + col_of(c);
            const index_t at = kk * ld_n + col;
            vector_t<input_t, VECTOR> n = {};  // zero, which adds nothing, beyond the edge
            if (kk < k_end && col < l)
                n = read<VECTOR>(&N[at]);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                n_next[i][c + e] = n.element[e];
        }
        // Its share of M, for everyone.
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            const index_t row = block_row + e / PHASE;
            const index_t kk = phase + e % PHASE;
            const index_t at = row * ld_m + kk;
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
            shared.Mds[stage][e / PHASE][e % PHASE] = m_next[i];
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
            if (Col >= l)
                continue;
            W[Row * l + Col] = Pvalue;
        }
    }
}

// The second kernel: it adds up the SPLITS partial sums of each element of P, always in the same order.
// A block serves REDUCE_ELEMENTS neighbouring elements; REDUCE_GROUPS threads share the splits of each.
constexpr int REDUCE_GROUPS = 8;
constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_ELEMENTS = REDUCE_THREADS / REDUCE_GROUPS;

// Launch: REDUCE_THREADS threads in a block,
//         (ceil(j * l / REDUCE_ELEMENTS), 1) blocks in the grid.
//         blockIdx.z counts the products of the batch.
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)
reduce_bf16_3xkx101(
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

    W += blockIdx.z * matrix * SPLITS;
    P += blockIdx.z * stride_p;
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
    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
}
