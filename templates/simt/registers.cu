// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in registers.
// The k dimension is walked in phases of BK, in five steps:
//
//                            BN
//                       +-----------+     fetch     the tiles of a phase, from global memory into registers: one
//                    BK |  phase 0  |               phase ahead
//                N      +-----------+     put       them from there into the half of shared memory that nobody
//                    BK |  phase 1  |               reads: one barrier a phase is enough for that
//        M              +-----------+     load      the elements of one step of k, from there into registers: one
//    BK      BK               :                     step ahead, into the other half of m and n
// +-------+-------+     +-----------+     multiply  the elements of one step, and add up the products
// |phase 0|phase 1| ... | tile of P | BM  store     the sums, in the end
// +-------+-------+     +-----------+

#include "parts/card.cuh"
#include "simt/card.cuh"

#include "parts/vector.cuh"
//@ if copies_or_zero
template <int COUNT>
__device__ __forceinline__ vector_t<input_t, COUNT> read_or_zero(const input_t *from, bool is_wanted)
{
    return is_wanted ? read<COUNT>(from) : vector_t<input_t, COUNT>{};
}

//@ end
//@| #include "parts/groups.cuh"  //@ only has_groups
#include "simt/launch.cuh"
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt(
    #include "parts/parameters.cuh"
{
    //@| #include "parts/awaits.cuh"  //@ only awaits
    #include "parts/derived.cuh"
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ only has_dependents
    #include "simt/block.cuh"

    #include "simt/share.cuh"

    // Where a tile's elements lie in shared memory: k by k, so that a row holds what one step of the inner loop needs. Some
    // places stay empty, so that what the lanes of a warp store at the same time goes to different banks.
    //@ if m_row_major
    constexpr int M_SKEW = 16;  //@ m_skew
    constexpr auto m_place = [](int kk, int row) { return kk * BM + row + kk / M_WIDTH * M_SKEW; };
    //@ elif m_skews
    //@| constexpr int M_LINE = BM + BM / (8 * VEC) * VEC;
    //@| constexpr auto m_place = [](int kk, int row) { return kk * M_LINE + row + row / (8 * VEC) * VEC; };
    //@ else
    //@| constexpr auto m_place = [](int kk, int row) { return kk * BM + row; };
    //@ end
    //@ if n_row_major and n_skews
    //@| constexpr int N_LINE = BN + BN / (8 * VEC) * VEC;
    //@| constexpr auto n_place = [](int kk, int col) { return kk * N_LINE + col + col / (8 * VEC) * VEC; };
    //@ elif n_row_major
    constexpr auto n_place = [](int kk, int col) { return kk * BN + col; };
    //@ else
    //@| constexpr int N_SKEW = 16;  //@ n_skew
    //@| constexpr auto n_place = [](int kk, int col) { return kk * BN + col + kk / N_WIDTH * N_SKEW; };
    //@ end
    __shared__ __align__(16) sum_t Mds[2][m_place(BK, 0)];
    __shared__ __align__(16) sum_t Nds[2][n_place(BK, 0)];

    // This thread's share of a phase, as it is stored.
    struct share_t {
        vector_t<input_t, M_WIDTH> M[BK / M_STEPS][BM / M_ROWS];
        vector_t<input_t, N_WIDTH> N[BK / N_STEPS][BN / N_COLS];
    } share;

    // fetch: the share of a phase.
    const auto fetch = [&](share_t &into, index_t phase) {  //@ , check_k
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                auto &to = into.M[kk / M_STEPS][row / M_ROWS];
                const input_t *from = &m_from[row * ld_m + kk];  //@ only m_row_major
                //@| const input_t *from = &m_from[kk * ld_m + row];  //@ only not m_row_major
                to = read_or_zero<M_WIDTH>(from, row < rows_left && (phase > 0 || m_kk + kk < first_steps));  //@ clips_rows && check_k  //@ only clips_rows or check_k
                //@| to = read<M_WIDTH>(from);  //@ only not clips_rows and not check_k
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                auto &to = into.N[kk / N_STEPS][col / N_COLS];
                const input_t *from = &n_from[kk * ld_n + col];  //@ only n_row_major
                //@| const input_t *from = &n_from[col * ld_n + kk];  //@ only not n_row_major
                to = read_or_zero<N_WIDTH>(from, col < cols_left && (phase > 0 || n_kk + kk < first_steps));  //@ clips_cols && check_k  //@ only clips_cols or check_k
                //@| to = read<N_WIDTH>(from);  //@ only not clips_cols and not check_k
            }
        }
        #include "simt/advance.cuh"
    };

    // put: the share into one half of shared memory, as elements of the sum.
    const auto put = [&](int stage, const share_t &from) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                sum_t *to = &Mds[stage][m_place(m_kk, m_row) + m_place(kk, row)];
                sum_t value[M_WIDTH];
#pragma unroll
                for (int i = 0; i < M_WIDTH; ++i)
                    value[i] = from.M[kk / M_STEPS][row / M_ROWS].element[i];
#pragma unroll
                for (int i = 0; i < M_WIDTH; ++i)
                    to[m_place(i, 0)] = value[i];  //@ only m_row_major
                //@|     to[i] = value[i];  //@ only not m_row_major
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                sum_t *to = &Nds[stage][n_place(n_kk, n_col) + n_place(kk, col)];
                sum_t value[N_WIDTH];
#pragma unroll
                for (int i = 0; i < N_WIDTH; ++i)
                    value[i] = from.N[kk / N_STEPS][col / N_COLS].element[i];
#pragma unroll
                for (int i = 0; i < N_WIDTH; ++i)
                    to[i] = value[i];  //@ only n_row_major
                //@|     to[n_place(i, 0)] = value[i];  //@ only not n_row_major
            }
        }
    };

    // load: one step's elements for this thread's rows and columns.
    sum_t m[2][TM], n[2][TN];
    const auto load = [&](int stage, int step) {
        const sum_t *m_first = &Mds[stage][m_place(0, thread_row)];
        const sum_t *n_first = &Nds[stage][n_place(0, thread_col)];
#pragma unroll
        for (int r = 0; r < TM; ++r)
            m[step % 2][r] = m_first[m_place(step, r / VEC * (4 * VEC)) + r % VEC];
#pragma unroll
        for (int c = 0; c < TN; ++c)
            n[step % 2][c] = n_first[n_place(step, c / VEC * (8 * VEC)) + c % VEC];
    };

    #include "simt/multiply.cuh"
    int stage = 0;
    //@ if may_be_empty
    //@| if (phases > 0) {
    //@|     fetch(share, 0);  //@ , check_k
    //@|     put(0, share);
    //@|     __syncthreads();
    //@|     load(0, 0);
    //@| }
    //@ else
    fetch(share, 0);  //@ , check_k
    put(0, share);
    __syncthreads();
    load(0, 0);
    //@ end
    for (index_t phase = 0; phase < phases; ++phase) {
        const bool is_last = phase + 1 == phases;
        if (!is_last)
            fetch(share, phase + 1);  //@ , check_k
#pragma unroll
        for (int step = 0; step < BK; ++step) {
            if (step + 1 < BK) {
                load(stage, step + 1);
            } else if (!is_last) {
                stage = 1 - stage;
                put(stage, share);  // nobody has read this half since the last barrier
                __syncthreads();    // the next tiles are complete, and everyone is done with these
                load(stage, 0);
            }
            multiply(step);
        }
    }

    #include "parts/store.cuh"
}
//@ if splits_k

#include "parts/reduce.cuh"
//@ end
//@| #include "parts/combine.cuh"  //@ only reduces
