// j16 k4096 l14336 bf16 N:s4 N:col scale_n=bf16:1x128:row-by-row
//
//     P (16 x 14336) = M (16 x 4096) . N (4096 x 14336) * scale_n
//
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

// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;

    // Round to nearest, ties to even. A NaN stays a NaN.
    __device__ explicit bfloat16(float value)
    {
#if __CUDA_ARCH__ >= 800
        unsigned int pair;  // value is its lower half
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned short>(pair);
#else
        const unsigned int word = __float_as_uint(value);
        if ((word & 0x7fffffffu) > 0x7f800000u)
            bits = static_cast<unsigned short>((word >> 16) | 0x0040u);
        else
            bits = static_cast<unsigned short>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
    }

    // Convert from the packed half; shifting an integer makes ptxas widen every element to a 32-bit register.
    __device__ operator float() const
    {
        float value;
        asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<unsigned short>(0)), "h"(bits));
        return value;
    }
};

// Two signed integers of 4 bits for storage, neighbours of a line: the first in the lower half of a byte.
struct s4x2 {
    unsigned char bits;

    // 2^23 + 8 + value has it as its last bits, so one subtraction converts it.
    __device__ float operator[](int half) const
    {
        return __uint_as_float(0x4b000000u | (((bits >> 4 * half) & 0xfu) ^ 8u)) - 8388616.0f;
    }
};

using output_t = bfloat16;
using sum_t = float;
using index_t = int;

constexpr index_t j = 16;
constexpr index_t k = 4096;
constexpr index_t l = 14336;
constexpr index_t ld_m = k;
constexpr index_t ld_n = (k + 1) / 2;
constexpr index_t ld_p = l;
constexpr int SCALE_K = 128;  // elements of k in a part that has scales of its own
constexpr int TM = 16;
constexpr int TN = 32;
constexpr int SLICES = 8;  // warps, which share the k of these columns
constexpr int RUN = 32;
constexpr int RUN_WORDS = 4;  // of the weights of a run
constexpr int AHEAD = 2;  // units whose weights are on their way to a lane
constexpr int SPLITS = 1;
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

// Products of small matrices by the tensor cores: a warp multiplies 16 rows of M by 8 columns of N, K_STEP elements deep, and adds
// the product to 16 x 8 sums. Each lane holds a part of each of the three, a fragment. Of lane 4 g + t:
//
//                                              columns of N
//                                                   g
//                          chunk 0             +---------+
//                                            t |  n[0]   |
//    rows        chunk 0     chunk 1           +---------+
//    of M           t           t      chunk 1 |         |
//             +-----------+-----------+      t |  n[1]   |
//           g |   m[0]    |   m[2]    |        +---------+
//             +-----------+-----------+          2t  2t+1
//       g + 8 |   m[1]    |   m[3]    |      g  sum  sum
//             +-----------+-----------+  g + 8  sum  sum
//
// A chunk is 16 bytes along k, of which lane t holds the 4 bytes numbered t.
using fragment_t = unsigned int;

__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col"
                 ".f32"
                 ".bf16"
                 ".bf16"
                 ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}

// Weights that lie along k, as they come: a lane has a run of neighbours of a column, and takes 8 of them at a time. Two of them have
// the same place in a word, half a word apart: elements 0 and 4, 1 and 5, 2 and 6, 3 and 7 of 4 bits; 0 and 2, 1 and 3, 4 and 6, 5 and 7
// of 8 bits. widen_neighbour makes numbers of 16 bits of two weights, exactly; pair_up brings together what they are multiplied by.
constexpr int NEIGHBOURS = 4;  // weights of a word
constexpr int WORDS = 1;  // of 8 weights

// Two numbers and two others: 1 * two + more, for both types have this instruction from sm_80 on.
__device__ __forceinline__ unsigned int add_both(unsigned int two, unsigned int more)
{
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(0x3f803f80u), "r"(more));
    return two;
}

// (two & taken) ^ others, which is one instruction. Written with operators and two constants, ptxas makes two of it.
__device__ __forceinline__ unsigned int take_bits(unsigned int two, unsigned int taken, unsigned int others)
{
    asm("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(two) : "r"(taken), "r"(others));
    return two;
}

// 128 + 8 + weight has the weight, with its sign turned round, as its last 4 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour, unsigned int less = 0xc308c308u /* -136 */)
{
    return add_both(take_bits(units >> 4 * neighbour, 0x000f000fu, 0x43084308u), less);
}

__device__ __forceinline__ unsigned int pair_up(const vector_t<unsigned int, 4> &run, int pair)
{
    const int first = pair / 2 * (4 / NEIGHBOURS), second = first + NEIGHBOURS / 2;
    return __byte_perm(run.element[first], run.element[second], pair % 2 == 0 ? 0x5410 : 0x7632);
}

// The 16-byte chunks of a line change places, in another way for each of the lines that are read together: up to 8, of which neighbours
// are read first.
__device__ __forceinline__ int reader_of(int line)
{
    return line % 2 * 4 + line / 2 % 2 * 2 + line / 4 % 2;
}

// The units of M of each warp: the one that it multiplies and the next. When they are done with, the slices' sums.
union __align__(16) shared_t {
    bfloat16 M[SLICES][2][TM][UNIT];
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
//         (ceil(l / BLOCK_COLS), ceil(j / TM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
thin_bf16_16x4096x14336(
    long long ld_scale_n,
    const bfloat16 *__restrict__ scale_n,
    const bfloat16 *__restrict__ M,
    const s4x2 *__restrict__ N,
    output_t *P)
{
    extern __shared__ shared_t memory[];
    shared_t &shared = memory[0];

    // This block's part of P begins here.
    const index_t block_row = static_cast<index_t>(blockIdx.y) * TM;
    const index_t block_col = static_cast<index_t>(blockIdx.x) * BLOCK_COLS;

    const int thread = threadIdx.x;
    const int lane = threadIdx.x % 32;
    const int slice = threadIdx.x / 32;
    const index_t units = k / UNIT;
    const index_t first = slice;
    // Column c of this lane, and row r in the tile. What hangs over an edge is that of the edge again, and is not stored.
    const auto col_of = [&](int c) { return block_col + c * 8 + lane / 4; };
    const auto row_of = [&](int r) { return r * 8 + lane / 4; };

    // This lane's runs of the next unit to load, and those that are on their way.
    index_t kk = first * UNIT + lane % 4 * RUN;
    const s4x2 *n_from = &N[col_of(0) * ld_n + kk / 2];
    vector_t<unsigned int, RUN_WORDS> n_next[AHEAD][TN / 8];
    bfloat16 n_scale_next[AHEAD][TN / 8];
    const auto load_n = [&](int place) {
#pragma unroll
        for (int c = 0; c < TN / 8; ++c) {
            const index_t col = col_of(c);
            n_next[place][c] = load_run(&n_from[(col - col_of(0)) * ld_n]);
            n_scale_next[place][c] = scale_n[col * ld_scale_n + kk / 128];
        }
        kk += PHASE;
        n_from += PHASE / 2;
    };
    // This lane's chunks of the next unit of M to copy, COPY_ROWS rows apart; and its elements in a copied one.
    const int copy_row = lane / CHUNKS;
    const int chunk = lane % CHUNKS;
    const bfloat16 *m_from = &M[(block_row + copy_row) * ld_m + first * UNIT + chunk * CHUNK];
    const bfloat16 *const m_own = &shared.M[slice][0][0][0];
    const unsigned int m_to = static_cast<unsigned int>(__cvta_generic_to_shared(&m_own[copy_row * UNIT + place_of(copy_row, chunk)]));
    const auto copy_m = [&](int stage) {
#pragma unroll
        for (int row = 0; row < TM; row += COPY_ROWS) {
            copy_chunk(m_to + (stage * TM + row) * UNIT * sizeof(bfloat16), &m_from[row * ld_m]);
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
            sum_t part[TN / 16][TM / 8][4] = {};  // the products of this unit, which has scales of its own
#pragma unroll
            for (int eight = 0; eight < RUN / 8; ++eight) {
                fragment_t m[TM / 8][4];
#pragma unroll
                for (int r = 0; r < TM / 8; ++r) {
                    const auto run = read<4>(reinterpret_cast<const unsigned int *>(&m_own[stage * (TM * UNIT) + (m_at[r] ^ eight * CHUNK)]));
#pragma unroll
                    for (int pair = 0; pair < 4; ++pair)
                        m[r][pair] = pair_up(run, pair);
                }
#pragma unroll
                for (int c = 0; c < TN / 16; ++c) {
                    fragment_t n[2][4];  // of two products, one after the other along k
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const auto &run = n_next[place][2 * c + half];
#pragma unroll
                        for (int pair = 0; pair < 4; ++pair)
                            n[pair / 2][pair % 2 * 2 + half] = widen_neighbour(run.element[eight * WORDS + pair / NEIGHBOURS], pair % NEIGHBOURS);
                    }
#pragma unroll
                    for (int r = 0; r < TM / 8; ++r)
#pragma unroll
                        for (int step = 0; step < 2; ++step) {
                            const fragment_t of_m[2] = {m[r][2 * step], m[r][2 * step + 1]};
                            multiply_add(n[step], of_m, part[c][r][0], part[c][r][1], part[c][r][2], part[c][r][3]);
                        }
                }
            }
            // Its sums, times its scales, are added to those of all units.
#pragma unroll
            for (int c = 0; c < TN / 16; ++c)
#pragma unroll
                for (int r = 0; r < TM / 8; ++r)
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        sum[c][r][i] += static_cast<float>(n_scale_next[place][2 * c + i / 2]) * part[c][r][i];
            if (unit + AHEAD * SLICES < units)
                load_n(place);
            __syncwarp();  // nobody needs this unit of M any more
            stage = 1 - stage;
        }
    }

    // The slices' sums become one, ROWS_AT_ONCE rows at a time. A lane has 2 rows of 2 columns, 8 apart, of each product.
#pragma unroll
    for (int top = 0; top < TM; top += ROWS_AT_ONCE) {
        __syncthreads();  // everyone is done with what lies there
#pragma unroll
        for (int c = 0; c < TN / 16; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                shared.partial[slice][(lane % 4 * 2 + i % 2) * BLOCK_COLS + c * 16 + i / 2 * 8 + lane / 4] = sum[c][top / 8][i];
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
