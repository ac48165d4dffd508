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

#include "parts/card.cuh"
constexpr int TM = 16;
constexpr int TN = 4;
constexpr int LANES = 8;
constexpr int SLICES = 32;
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
constexpr int ROWS_AT_ONCE = 4;
constexpr int OUTPUTS = ROWS_AT_ONCE * BLOCK_COLS;

#include "parts/vector.cuh"
// The tiles of M, this phase's and the next one's; when they are done with, the slices' sums.
union shared_t {
    sum_t Mds[2][TM][PHASE + PADDING];
    sum_t partial[SLICES][OUTPUTS];  //@ only n_row_major
    //@| sum_t partial[SLICES][OUTPUTS + 1];  // + 1: neighbouring threads are neighbouring slices, and store into other banks  //@ only not n_row_major
};

// Launch: THREADS threads in a block,
//         (ceil(l / BLOCK_COLS), ceil(j / TM)) blocks in the grid.  //@ blocks_on_x for ceil(l / BLOCK_COLS)  //@ blocks_on_y for ceil(j / TM)
//@ lines what_z_counts
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
skinny(
    #include "parts/parameters.cuh"
{
    __shared__ __align__(16) shared_t shared;
    //@| __shared__ float kept[REDUCTIONS][OUTPUTS];  // what the epilogue makes of the rows that are finished at once  //@ real_t for float  //@ only reduces

    //@| #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ dependents
    // This block's part of P begins here.
    const index_t block_row = static_cast<index_t>(blockIdx.y) * TM;  //@ rows_axis for y
    const index_t block_col = static_cast<index_t>(blockIdx.x) * BLOCK_COLS;  //@ cols_axis for x
    //@| #include "parts/split_of_k.cuh"  //@ only splits_k

    const int thread = threadIdx.x;
    #include "skinny/share_across.cuh"  //@ n_share

    input_t m_next[M_SHARE];  //@ m_t for input_t
    input_t n_next[K_THREAD][TN];  //@ n_t for input_t  //@ n_loaded for n_next[K_THREAD][TN]
    //@| float n_scale_next[K_THREAD / RUN][TN];  // one for each run, of which SCALE_K is a multiple  //@ only n_scales_k
    const auto load = [&](index_t phase) {
        // This thread's share of N: nobody else needs it.
#pragma unroll
        for (int v = 0; v < K_THREAD * TN / VECTOR; ++v) {
            const int i = v / (TN / VECTOR);  //@ i_of for v / (TN / VECTOR)
            const int c = v % (TN / VECTOR) * VECTOR;  //@ c_of for v % (TN / VECTOR) * VECTOR
            const index_t kk = phase + k_of(i);
            const index_t col = block_col + col_of(c);
            const index_t at = kk * ld_n + col;  //@ n_from for kk * ld_n + col
            //@ if check_k or check_l
            vector_t<input_t, VECTOR> n = {};  // zero, which adds nothing, beyond the edge  //@ n_t for input_t  //@ vector_loaded for VECTOR
            if (kk < k && col < l)  //@ check_k && check_l  //@ k_end for k
                n = read<VECTOR>(&N[at]);  //@ vector_loaded for VECTOR
            //@ else
            //@| const auto n = read<VECTOR>(&N[at]);  //@ vector_loaded for VECTOR
            //@ end
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)  //@ vector_loaded for VECTOR
                n_next[i][c + e] = n.element[e];  //@ n_to for n_next[i][c + e]
        }
        //@| #include "skinny/read_scales.cuh"  //@ only n_scales_k
        // Its share of M, for everyone.
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            #include "skinny/m_along.cuh"  //@ m_place
            //@| if (e >= TM * PHASE)  //@ only ragged_m
            //@|     continue;
            m_next[i] = row < j && kk < k ? M[at] : input_t{};  //@ m_t for input_t  //@ check_j && check_k  //@ k_end for k  //@ only check_j or check_k
            //@| m_next[i] = M[at];  //@ only not check_j and not check_k
        }
    };

    sum_t sum[TM][TN] = {};
    int stage = 0;
    //@| if (0 < k)  //@ k_begin for 0  //@ k_end for k  //@ only may_be_empty
    //@|     load(0);  //@ k_begin for 0
    load(0);  //@ k_begin for 0  //@ only not may_be_empty
//@| #pragma unroll 1  // so many phases are too long a text for a compiler that knows how many they are  //@ only loops
    for (index_t phase = 0; phase < k; phase += PHASE) {  //@ k_begin for 0  //@ walked for k; phase += PHASE
        // What was loaded is this phase's now. The other half of shared memory is still being read.
        stage = 1 - stage;
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            //@| if (e >= TM * PHASE)  //@ only ragged_m
            //@|     continue;
            shared.Mds[stage][e / PHASE][e % PHASE] = m_next[i];  //@ m_put for [e / PHASE][e % PHASE]
        }
        sum_t n[K_THREAD][TN];
#pragma unroll
        for (int i = 0; i < K_THREAD; ++i)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                n[i][c] = n_next[i][c];  //@ n_number for n_next[i][c]
        __syncthreads();  // the tile of M is complete, and everyone is done with the last but one

        //@| phase += PHASE;  //@ only loops
        if (phase + PHASE < k)  //@ next_phase for phase + PHASE  //@ k_end for k
            load(phase + PHASE);  //@ next_phase for phase + PHASE
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
                    sum[r][c] += m[i] * n[i][c];  //@ only not complex
                    //@| add_product(sum[r][c], m[i], n[i][c]);  //@ only complex
        }
    }

    // The slices' sums become one, ROWS_AT_ONCE rows at a time.
    //@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
    #include "parts/scale.cuh"
    //@| float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS  //@ only reduces
#pragma unroll
    for (int top = 0; top < TM; top += ROWS_AT_ONCE) {
        __syncthreads();  // everyone is done with what lies there
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; ++r)
#pragma unroll
            for (int c = 0; c < TN; ++c)
                shared.partial[slice][r * BLOCK_COLS + col_of(c)] = sum[top + r][c];
        #include "parts/slices.cuh"
    }
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
