// P has few rows, so the time is that of reading the weights of N once. They go from global memory straight into the registers of the
// lanes that need them, where a few instructions widen them for tensor cores. A product of those takes 16 columns of N, as the rows of
// its first factor, and 8 rows of M: half as many products as with 16 rows of M, of which most would be empty.
//
//                  16 columns of N, along k                 A lane loads RUN weights of a column, which are neighbours along k, and
//              lane 0   lane 1   lane 2   lane 3            takes as many elements of a row of M, which its warp has copied to shared
//            +--------+--------+--------+--------+          memory. It does not matter in which order products take the elements
//    col g   | RUN    |        |        |        |          of k, if M and N agree: the first product takes the first few of each
//            +--------+--------+--------+--------+          of the four runs, and so on. 4 * RUN elements are a unit. The slices
//    g + 8   |        |        |        |        |          of a block take turns in units, and no warp waits for another, until
//            +--------+--------+--------+--------+          their sums are added up, as a tree, in shared memory.

#include "parts/card.cuh"
constexpr int TM = 8;
constexpr int TN = 32;
constexpr int SLICES = 8;  // warps, which share the k of these columns
constexpr int RUN = 32;
constexpr int RUN_WORDS = 4;  // of the weights of a run
constexpr int AHEAD = 2;  // units whose weights are on their way to a lane
constexpr int SPLITS = 8;
constexpr int BLOCKS = 1;
constexpr int THREADS = 32 * SLICES;
constexpr int BLOCK_COLS = TN;
constexpr int UNIT = 4 * RUN;
constexpr int PHASE = SLICES * UNIT;
constexpr int ROWS_AT_ONCE = 8;
constexpr int OUTPUTS = ROWS_AT_ONCE * BLOCK_COLS;

constexpr int CHUNK = 8;  // elements of M in 16 bytes
constexpr int CHUNKS = UNIT / CHUNK;  // of a row of a unit
constexpr int COPY_ROWS = 32 / CHUNKS;  // rows whose chunks a warp copies at once

#include "parts/vector.cuh"
#include "parts/async.cuh"
#include "parts/mma.cuh"
#include "parts/weights.cuh"  //@ stored_weights

// The units of M of each warp: the one that it multiplies and the next. When they are done with, the slices' sums.
union __align__(16) shared_t {
    input_t M[SLICES][2][TM][UNIT];  //@ m_t for input_t
    sum_t partial[SLICES][OUTPUTS];
};

// The chunks of a row change places, so that lanes which read two rows, RUN elements apart, do so from different banks.
__device__ __forceinline__ int place_of(int row, int chunk)
{
    return (chunk ^ chunk / 8 ^ row % 2 * (RUN / 16)) * CHUNK;
}

// Weights of a run, which nobody else needs. L2 lines come in pairs, since the next units lie in them.
__device__ __forceinline__ vector_t<unsigned int, RUN_WORDS> load_run(const void *from)
{
    vector_t<unsigned int, RUN_WORDS> run;
    if constexpr (RUN_WORDS == 4)
        asm volatile("ld.global.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(run.element[0]), "=r"(run.element[1]), "=r"(run.element[2]), "=r"(run.element[3])
                     : "l"(from));
    else
        run = read<RUN_WORDS>(static_cast<const unsigned int *>(from));
    return run;
}

// 16 bytes that warps of other columns need as well: by way of the L1.
__device__ __forceinline__ void copy_chunk(unsigned int to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

// Launch: THREADS threads in a block,
//         (ceil(l / BLOCK_COLS), ceil(j / TM)) blocks in the grid.  //@ blocks_on_x for ceil(l / BLOCK_COLS)  //@ blocks_on_y for ceil(j / TM)
//@ lines what_z_counts
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
thin(
    #include "parts/parameters.cuh"
{
    extern __shared__ shared_t memory[];
    shared_t &shared = memory[0];
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
    const int lane = threadIdx.x % 32;
    const int slice = threadIdx.x / 32;
    const index_t units = k / UNIT;  //@ k_end for k
    const index_t first = slice;  //@ first_unit for slice
    // Column c of this lane, and row r in the tile. What hangs over an edge is that of the edge again, and is not stored.
    const auto col_of = [&](int c) { return block_col + c * 8 + lane / 4; };  //@ only not check_l
    //@| const auto col_of = [&](int c) { return min(block_col + c * 8 + lane / 4, static_cast<index_t>(l) - 1); };  //@ only check_l
    const auto row_of = [&](int r) { return r * 8 + lane / 4; };  //@ only not check_j
    //@| const auto row_of = [&](int r) { return static_cast<int>(min(block_row + r * 8 + lane / 4, static_cast<index_t>(j) - 1) - block_row); };  //@ only check_j

    // This lane's runs of the next unit to load, and those that are on their way.
    index_t kk = first * UNIT + lane % 4 * RUN;
    const input_t *n_from = &N[col_of(0) * ld_n + kk];  //@ n_t for input_t  //@ n_k for kk
    vector_t<unsigned int, RUN_WORDS> n_next[AHEAD][TN / 8];
    //@| float n_scale_next[AHEAD][TN / 8];  //@ n_scale_t for float  //@ only n_scales_k
    //@| float n_zero_next[AHEAD][TN / 8];  //@ only has_zeros
    const auto load_n = [&](int place) {
#pragma unroll
        for (int c = 0; c < TN / 8; ++c) {
            const index_t col = col_of(c);
            n_next[place][c] = load_run(&n_from[(col - col_of(0)) * ld_n]);
            //@| n_scale_next[place][c] = scale_n[kk / SCALE_K * ld_scale_n + col];  //@ n_scale_at for scale_n[kk / SCALE_K * ld_scale_n + col]  //@ only n_scales_k
            //@| n_zero_next[place][c] = zero_n[kk / SCALE_K * ld_zero_n + col];  //@ n_zero_at for zero_n[kk / SCALE_K * ld_zero_n + col]  //@ only has_zeros
        }
        kk += PHASE;
        n_from += PHASE;  //@ n_phase for PHASE
    };
    // This lane's chunks of the next unit of M to copy, COPY_ROWS rows apart; and its elements in a copied one.
    const int copy_row = lane / CHUNKS;
    const int chunk = lane % CHUNKS;
    const input_t *m_from = &M[(block_row + copy_row) * ld_m + first * UNIT + chunk * CHUNK];  //@ m_t for input_t
    const input_t *const m_own = &shared.M[slice][0][0][0];  //@ m_t for input_t
    const unsigned int m_to = static_cast<unsigned int>(__cvta_generic_to_shared(&m_own[copy_row * UNIT + place_of(copy_row, chunk)]));
    const auto copy_m = [&](int stage) {
#pragma unroll
        for (int row = 0; row < TM; row += COPY_ROWS) {
            if (block_row + copy_row + row >= j)  //@ only check_j
                break;
            copy_chunk(m_to + (stage * TM + row) * UNIT * sizeof(input_t), &m_from[row * ld_m]);  //@ m_t for input_t
        }
        m_from += PHASE;
    };
    int m_at[TM / 8];
#pragma unroll
    for (int r = 0; r < TM / 8; ++r)
        m_at[r] = row_of(r) * UNIT + place_of(row_of(r), lane % 4 * (RUN / CHUNK));

    sum_t sum[TN / 16][TM / 8][4] = {};
#pragma unroll
    for (int place = 0; place < AHEAD; ++place)
        if (first + place * SLICES < units)
            load_n(place);
    if (first < units)
        copy_m(0);
    commit_copies();
    int stage = 0;
#pragma unroll 1
    for (index_t begin = first; begin < units; begin += AHEAD * SLICES) {
#pragma unroll
        for (int place = 0; place < AHEAD; ++place) {
            const index_t unit = begin + place * SLICES;
            if (unit >= units)
                break;
            if (unit + SLICES < units)
                copy_m(1 - stage);
            commit_copies();
            wait_for_copies<1>();
            __syncwarp();  // all lanes have what they copied of this unit
            //@| sum_t part[TN / 16][TM / 8][4] = {};  // the products of this unit, which has scales of its own  //@ only adds_parts
            //@| #include "thin/take_zeros.cuh"  //@ taken
#pragma unroll
            for (int eight = 0; eight < RUN / 8; ++eight) {
                fragment_t m[TM / 8][4];
#pragma unroll
                for (int r = 0; r < TM / 8; ++r) {
                    const auto run = read<4>(reinterpret_cast<const unsigned int *>(&m_own[stage * (TM * UNIT) + (m_at[r] ^ eight * CHUNK)]));
#pragma unroll
                    for (int pair = 0; pair < 4; ++pair)
                        m[r][pair] = run.element[pair];  //@ m_pair
                }
#pragma unroll
                for (int c = 0; c < TN / 16; ++c) {
                    fragment_t n[2][4];  // of two products, one after the other along k
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const auto &run = n_next[place][2 * c + half];
                        #include "thin/widen.cuh"  //@ widened
                    }
                    //@| #include "thin/multiply_by_powers.cuh"  //@ multiplied
#pragma unroll
                    for (int r = 0; r < TM / 8; ++r)
#pragma unroll
                        for (int step = 0; step < 2; ++step) {
                            const fragment_t of_m[2] = {m[r][2 * step], m[r][2 * step + 1]};
                            multiply_add(n[step], of_m, sum[c][r][0], sum[c][r][1], sum[c][r][2], sum[c][r][3]);  //@ products for sum  //@ products for sum  //@ products for sum  //@ products for sum
                        }
                }
            }
            //@| #include "thin/add_part.cuh"  //@ only adds_parts
            if (unit + AHEAD * SLICES < units)
                load_n(place);
            __syncwarp();  // nobody needs this unit of M any more
            stage = 1 - stage;
        }
    }

    // The slices' sums become one, ROWS_AT_ONCE rows at a time. A lane has 2 rows of 2 columns, 8 apart, of each product.
    //@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
    #include "parts/scale.cuh"
    //@| float *const results = W + blockIdx.z * RESULTS;  //@ real_t for float  //@ w_of_product for W + blockIdx.z * RESULTS  //@ only reduces
#pragma unroll
    for (int top = 0; top < TM; top += ROWS_AT_ONCE) {
        __syncthreads();  // everyone is done with what lies there
#pragma unroll
        for (int c = 0; c < TN / 16; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                shared.partial[slice][(lane % 4 * 2 + i % 2) * BLOCK_COLS + c * 16 + i / 2 * 8 + lane / 4] = sum[c][top / 8][i];  //@ sum_of_lane for sum[c][top / 8][i]
        #include "parts/slices.cuh"
    }
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
