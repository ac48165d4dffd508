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
//         (ceil(l / BLOCK_COLS), ceil(j / TM)) blocks in the grid.  //@ only rows_on_y
//@| //         (ceil(j / TM), ceil(l / BLOCK_COLS)) blocks in the grid.  //@ only not rows_on_y
//@ if batched and splits_k
//         blockIdx.z counts the splits of k, of one product of the batch after the other.
//@ elif splits_k
//         blockIdx.z counts the splits of k.
//@ elif batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
skinny(
    #include "parts/parameters.cuh"
{
    __shared__ __align__(16) shared_t shared;
    //@| __shared__ float kept[REDUCTIONS][OUTPUTS];  // what the epilogue makes of the rows that are finished at once  //@ real_t for float  //@ only reduces

    //@| #include "parts/awaits.cuh"  //@ only awaits
    #include "parts/derived.cuh"
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ only has_dependents
    // This block's part of P begins here.
    //@ if rows_on_y
    const index_t block_row = static_cast<index_t>(blockIdx.y) * TM;
    const index_t block_col = static_cast<index_t>(blockIdx.x) * BLOCK_COLS;
    //@ else
    //@| const index_t block_row = static_cast<index_t>(blockIdx.x) * TM;
    //@| const index_t block_col = static_cast<index_t>(blockIdx.y) * BLOCK_COLS;
    //@ end
    //@ if splits_k
    //@| const index_t split_k = (k + SPLITS * PHASE - 1) / (SPLITS * PHASE) * PHASE;  // whole phases
    //@| const index_t k_begin = blockIdx.z % SPLITS * split_k;
    //@| const index_t k_end = k_begin + split_k < k ? k_begin + split_k : k;
    //@ end

    const int thread = threadIdx.x;
    //@ if n_row_major
    const int lane = thread % LANES;  // neighbouring threads stand along the columns, which lie side by side in N
    const int slice = thread / LANES;
    //@ else
    //@| const int lane = thread / SLICES;
    //@| const int slice = thread % SLICES;  // neighbouring threads stand along k, which N's columns lie along
    //@ end

    // Element i of this thread's share of a phase: its slice holds runs of RUN, SLICES * RUN apart.
    const auto k_of = [&](int i) { return i / RUN * (SLICES * RUN) + slice * RUN + i % RUN; };
    // Column c of this thread, of the BLOCK_COLS.
    const auto col_of = [&](int c) { return c / VECTOR * (LANES * VECTOR) + lane * VECTOR + c % VECTOR; };  //@ only n_row_major
    //@| const auto col_of = [&](int c) { return c * LANES + lane; };  //@ only not n_row_major

    input_t m_next[M_SHARE];  //@ m_t for input_t
    input_t n_next[K_THREAD][TN];  //@ n_t for input_t  //@ n_loaded for n_next[K_THREAD][TN]
    //@| float n_scale_next[K_THREAD / RUN][TN];  // one for each run, of which SCALE_K is a multiple  //@ only n_scales_k
    const auto load = [&](index_t phase) {
        // This thread's share of N: nobody else needs it.
#pragma unroll
        for (int v = 0; v < K_THREAD * TN / VECTOR; ++v) {
            //@ if n_row_major
            const int i = v / (TN / VECTOR);
            const int c = v % (TN / VECTOR) * VECTOR;
            //@ else
            //@| const int i = v % (K_THREAD / VECTOR) * VECTOR;
            //@| const int c = v / (K_THREAD / VECTOR);
            //@ end
            const index_t kk = phase + k_of(i);
            const index_t col = block_col + col_of(c);
            const index_t at = kk * ld_n + col;  //@ n_from for + col  //@ only n_row_major
            //@| const index_t at = col * ld_n + kk;  //@ n_from for + kk  //@ only not n_row_major
            //@ if check_k or check_l
            vector_t<input_t, VECTOR> n = {};  // zero, which adds nothing, beyond the edge  //@ n_t for input_t  //@ vector_loaded for VECTOR
            if (kk < k && col < l)  //@ check_k && check_l  //@ k_end for k
                n = read<VECTOR>(&N[at]);  //@ vector_loaded for VECTOR
            //@ else
            //@| const auto n = read<VECTOR>(&N[at]);  //@ vector_loaded for VECTOR
            //@ end
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)  //@ vector_loaded for VECTOR
                n_next[i][c + e] = n.element[e];  //@ n_to for c + e  //@ only n_row_major
            //@|     n_next[i + e][c] = n.element[e];  //@ n_to for i + e  //@ only not n_row_major
        }
        //@ if n_scales_k
//@| #pragma unroll
        //@| for (int i = 0; i < K_THREAD; i += RUN)
//@| #pragma unroll
        //@|     for (int c = 0; c < TN; ++c) {
        //@|         const index_t kk = phase + k_of(i);
        //@|         const index_t col = block_col + col_of(c);
        //@|         n_scale_next[i / RUN][c] = kk < k && col < l ? scale_n[kk / SCALE_K * ld_scale_n + col] : 0;  //@ check_k && check_l  //@ k_end for k
        //@|     }
        //@ end
        // Its share of M, for everyone.
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            //@ if m_row_major
            const index_t row = block_row + e / PHASE;
            const index_t kk = phase + e % PHASE;
            const index_t at = row * ld_m + kk;
            //@ else
            //@| const index_t row = block_row + e % TM;
            //@| const index_t kk = phase + e / TM;
            //@| const index_t at = kk * ld_m + row;
            //@ end
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
    //@ if loops
//@| #pragma unroll 1  // so many phases are too long a text for a compiler that knows how many they are
    //@| for (index_t phase = 0; phase < k;) {  //@ k_begin for 0  //@ k_end for k
    //@ else
    for (index_t phase = 0; phase < k; phase += PHASE) {  //@ k_begin for 0  //@ k_end for k
    //@ end
        // What was loaded is this phase's now. The other half of shared memory is still being read.
        stage = 1 - stage;
#pragma unroll
        for (int i = 0; i < M_SHARE; ++i) {
            const int e = thread + i * THREADS;
            //@| if (e >= TM * PHASE)  //@ only ragged_m
            //@|     continue;
            shared.Mds[stage][e / PHASE][e % PHASE] = m_next[i];  //@ only m_row_major
            //@| shared.Mds[stage][e % TM][e / TM] = m_next[i];  //@ only not m_row_major
        }
        sum_t n[K_THREAD][TN];
#pragma unroll
        for (int i = 0; i < K_THREAD; ++i)
#pragma unroll
            for (int c = 0; c < TN; ++c)
            //@|     n[i][c] = n_scale_next[i / RUN][c] * n_next[i][c];  //@ n_number for n_next[i][c]  //@ only n_scales_k
                n[i][c] = n_next[i][c];  //@ n_number for n_next[i][c]  //@ only not n_scales_k
        __syncthreads();  // the tile of M is complete, and everyone is done with the last but one

        //@ if loops
        //@| phase += PHASE;
        //@| if (phase < k)  //@ k_end for k
        //@|     load(phase);
        //@ else
        if (phase + PHASE < k)  //@ k_end for k
            load(phase + PHASE);
        //@ end
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
    //@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
    #include "parts/scale.cuh"
    //@ if reduces and batched
    //@| float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float
    //@ elif reduces
    //@| float *const results = W;  //@ real_t for float
    //@ end
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
        //@ if pairs and not splits_k
        //@| for (int e = 2 * thread; e < OUTPUTS; e += 2 * THREADS) {
        //@ else
        for (int e = thread; e < OUTPUTS; e += THREADS) {
        //@ end
            const index_t Row = block_row + top + e / BLOCK_COLS;
            const index_t Col = block_col + e % BLOCK_COLS;
            sum_t Pvalue = shared.partial[0][e];
            //@| sum_t beside = shared.partial[0][e + 1];  // of the next column  //@ only pairs and not splits_k
            //@ if reduces
            //@ lines reduction_starts
            //@ if check_j or check_l
            //@| if (Row < j && Col < l) {  //@ check_j && check_l
            //@ else
            //@| {
            //@ end
            //@|     #include "parts/epilogue.cuh"
            //@| }
            //@ lines element_kept
            //@ elif check_j or check_l
            if (Row >= j || Col >= l)  //@ check_j || check_l
                continue;
            //@ end
            //@ if reduces
            //@ elif splits_k and p_row_major
            //@| W[Row * l + Col] = Pvalue;
            //@ elif splits_k
            //@| W[Col * j + Row] = Pvalue;
            //@ else
            #include "parts/epilogue.cuh"
            //@ end
        }
        //@ if reduces
        //@| // reduce: of these rows, warps combine what is kept of each, and threads what is kept of each column.
        //@| __syncthreads();
        //@| const long long row_slot = block_col / BLOCK_COLS;  //@ only reduces_rows
        //@| const long long col_slot = (block_row + top) / ROWS_AT_ONCE;  //@ only reduces_cols
        //@ lines rows_found
        //@ end
    }
}
//@ if splits_k

#include "parts/reduce.cuh"
//@ end
//@| #include "parts/combine.cuh"  //@ only reduces
