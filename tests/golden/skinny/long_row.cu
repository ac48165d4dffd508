// j1 k4096 l512 f16
//
//     P (1 x 512) = M (1 x 4096) . N (4096 x 512)
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

// IEEE half precision for storage: 16 bits in memory, a float in registers.
struct half {
    unsigned short bits;

    half() = default;

    // Round to nearest, ties to even.
    __device__ explicit half(float value)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }

    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

using input_t = half;
using output_t = half;
using sum_t = float;
using index_t = int;

constexpr index_t j = 1;
constexpr index_t k = 4096;
constexpr index_t l = 512;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int TM = 1;
constexpr int TN = 8;
constexpr int LANES = 8;
constexpr int SLICES = 8;
constexpr int VECTOR = 8;
constexpr int RUN = 16;
constexpr int K_THREAD = 16;
constexpr int SPLITS = 1;
constexpr int BLOCKS = 1;
constexpr int THREADS = LANES * SLICES;
constexpr int BLOCK_COLS = LANES * TN;
constexpr int PHASE = SLICES * K_THREAD;
constexpr int M_SHARE = (TM * PHASE + THREADS - 1) / THREADS;  // of a phase's tile of M, for each thread to load
constexpr int PADDING = 4;  // of a row of that tile, which keeps the runs aligned
constexpr int ROWS_AT_ONCE = 1;
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
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
skinny_f16_1x4096x512(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
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
            const auto n = read<VECTOR>(&N[at]);
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
            m_next[i] = M[at];
        }
    };

    sum_t sum[TM][TN] = {};
    int stage = 0;
    load(0);
#pragma unroll 1  // so many phases are too long a text for a compiler that knows how many they are
    for (index_t phase = 0; phase < k;) {
        // What was loaded is this phase's now. The other half of shared memory is still being read.
        stage = 1 - stage;
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            shared.Mds[stage][e / PHASE][e % PHASE] = m_next[i];
        }
        sum_t n[K_THREAD][TN];
#pragma unroll
        for (int i = 0; i < K_THREAD; ++i)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                n[i][c] = n_next[i][c];
        __syncthreads();  // the tile of M is complete, and everyone is done with the last but one

        phase += PHASE;
        if (phase < k)
            load(phase);
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
            P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
        }
    }
}
