// j1000 k999 l1008 s8 P:f32
//
//     P (1000 x 1008) = M (1000 x 999) . N (999 x 1008)
//
// One block computes one BM x BN tile of P, one warp WM x WN elements of it, by products of 16 x 8 elements that the tensor cores
// make. The k dimension is walked in phases of BK, in four steps:
//
//                            BN
//                       +-----------+     copy      the tiles of a phase, from global memory past the registers into
//                    BK |  phase 0  |               one of STAGES places in shared memory: STAGES - 1 phases ahead
//                N      +-----------+     load      the fragments of one step of k, from there into registers: one step
//                    BK |  phase 1  |               ahead, into the other half of m and n
//        M              +-----------+     multiply  the fragments of one step, and add up the products
//    BK      BK               :           store     the sums, in the end
// +-------+-------+     +-----------+
// |phase 0|phase 1| ... | tile of P | BM
// +-------+-------+     +-----------+
//
// Before all that, a kernel of its own copies what lies on odd addresses to a place where every line begins at a multiple of 16 bytes.

// A signed integer of 8 bits for storage.
struct s8 {
    signed char value;

    __device__ operator int() const
    {
        return value;
    }
};

using input_t = s8;
using output_t = float;
using sum_t = int;
using index_t = int;

constexpr index_t j = 1000;
constexpr index_t k = 999;
constexpr index_t l = 1008;
constexpr index_t ld_m = 1024;
constexpr index_t ld_n = 1024;
constexpr index_t ld_p = l;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 64;
constexpr int WN = 64;
constexpr int K_STEP = 32;  // elements along k of one product of the tensor cores
constexpr int STEPS = BK / K_STEP;  // of a phase
constexpr int TM = WM / 8;  // elements of a thread in a column of P
constexpr int TN = WN / 4;  // and in a row
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int STAGES = 3;
constexpr int BLOCKS = 1;
constexpr int P_VECTOR = 2;  // elements that one instruction stores

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

// Four matrices of 8 lines of 16 bytes each. Lane i says where line i % 8 of matrix i / 8 begins; lane 4 g + t receives the 4 bytes
// numbered t of line g of each.
__device__ __forceinline__ void load_matrices(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col"
                 ".s32"
                 ".s8"
                 ".s8"
                 ".s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sum0),
                   "+r"(sum1),
                   "+r"(sum2),
                   "+r"(sum3)
                 : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}

// Tiles in shared memory whose lines ldmatrix reads, 8 lines at once, 16 bytes of each. In plain order these would lie in the same
// banks. So the 16-byte chunks of a line change places, in another way for each of the 8 lines that are read together.
template <int CHUNKS>
__device__ __forceinline__ int swizzle(int line, int chunk, int reader)
{
    constexpr int LINES = CHUNKS < 8 ? 8 / CHUNKS : 1;  // those that fill the banks once
    return line * CHUNKS + (chunk ^ reader / LINES % (CHUNKS < 8 ? CHUNKS : 8));
}

// What one phase needs. The tiles lie as M and N do: a line holds neighbours in memory.
constexpr int CHUNK = 16 / sizeof(input_t);  // elements of 16 bytes
constexpr int M_LINES = BM, M_LINE = BK;  // lines, and elements of a line
constexpr int N_LINES = BN, N_LINE = BK;
constexpr int M_PITCH = M_LINE + 0;  // from one line to the next: so much more keeps lanes in different banks
constexpr int N_PITCH = N_LINE + 0;
struct __align__(128) phase_t {
    input_t M[M_LINES * M_PITCH];
    input_t N[N_LINES * N_PITCH];
};

// Where an element of a line lies in its tile.
__device__ __forceinline__ int m_place(int line, int element)
{
    return swizzle<M_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
}

__device__ __forceinline__ int n_place(int line, int element)
{
    return swizzle<N_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
}

// pack: operands are copied to the workspace, where every line begins at a multiple of 16 bytes and lies along k, and what is added
// to a line, or beyond the last one, is zero.
constexpr int PACK_THREADS = 256;
constexpr int PACK_WIDTH = 16 / sizeof(input_t);  // elements of 16 bytes
constexpr int PACK_EDGE = 128 / sizeof(input_t);  // of 128 bytes

// 16 bytes of a line from its element `first` on; zero, where they are not there. WIDE: all of them are, or none, and at once.
template <bool WIDE, typename element_t>
__device__ __forceinline__ vector_t<element_t, PACK_WIDTH> load_chunk(const element_t *line, long long first, long long elements)
{
    vector_t<element_t, PACK_WIDTH> chunk = {};
    if (WIDE && first < elements)
        chunk = read<PACK_WIDTH>(&line[first]);
#pragma unroll
    for (int e = 0; e < PACK_WIDTH; ++e)
        if (!WIDE && first + e < elements)
            chunk.element[e] = line[first + e];
    return chunk;
}

// At once: left to itself, the compiler stores what it has loaded piece by piece.
__device__ __forceinline__ void store_chunk(void *to, uint4 chunk)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w) : "memory");
}

// `lines` of so many elements, ld apart, become lines_packed lines, ld_packed apart. What is added is zero. block: the number of this
// one, where it matters that M and N, if both are packed, keep different blocks busy.
template <bool WIDE, typename element_t>
__device__ __forceinline__ void pack_lines(const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
{
    const long long chunks = ld_packed / PACK_WIDTH;
#pragma unroll 1  // several turns at once would not fit the registers of every target
    for (long long i = block * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * PACK_WIDTH;
        vector_t<element_t, PACK_WIDTH> chunk = {};
        if (line < lines)
            chunk = load_chunk<WIDE>(&from[line * ld], first, elements);
        store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(chunk));
    }
}

// transpose: lines become lines across them, tile by tile, through shared memory. A tile has as many lines as there are elements in
// 128 bytes, and 128 bytes of each. It comes in chunks of 16 bytes. Then a thread takes one word of each of PACK_WIDTH lines: of every
// element of the word, 16 bytes of a line of the transpose.
//
//                     word                               group
//           +---------+---+------+                +---------+---+------+
//           |         |   |      |                |         |   |      |
//           +---------+---+------+                +---------+---+------+
//     group |         |###|      |           word |         |###|      |
//           +---------+---+------+                +---------+---+------+
//           |         |   |      |                |         |   |      |
//           +---------+---+------+                +---------+---+------+
//
// Eight threads side by side take the same word of eight groups of lines. In shared memory each group begins one chunk further than
// it would, so that the lanes of a warp take words of 32 different banks.
using pack_tile_t = uint4[8 * (PACK_EDGE + 1)];

// Byte i of word w becomes byte w of word i.
__device__ __forceinline__ uint4 transpose_bytes(unsigned int w0, unsigned int w1, unsigned int w2, unsigned int w3)
{
    const unsigned int low01 = __byte_perm(w0, w1, 0x5140), low23 = __byte_perm(w2, w3, 0x5140);  // bytes 0 and 1 of both
    const unsigned int high01 = __byte_perm(w0, w1, 0x7362), high23 = __byte_perm(w2, w3, 0x7362);  // bytes 2 and 3
    return {__byte_perm(low01, low23, 0x5410), __byte_perm(low01, low23, 0x7632), __byte_perm(high01, high23, 0x5410), __byte_perm(high01, high23, 0x7632)};
}

// Of `lines` of so many elements, ld apart, the elements at the same place become lines_packed lines, ld_packed apart. What is added
// is zero.
template <bool WIDE, typename element_t>
__device__ __forceinline__ void transpose_lines(pack_tile_t &tile, const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
{
    constexpr int WORD = 4 / sizeof(element_t);  // elements of a word
    const int group = threadIdx.x % 8, word = threadIdx.x / 8;
    const long long across = (lines_packed + PACK_EDGE - 1) / PACK_EDGE, along = (ld_packed + PACK_EDGE - 1) / PACK_EDGE;
    for (long long i = block; i < across * along; i += gridDim.x) {
        const long long first_line = i / across * PACK_EDGE, first = i % across * PACK_EDGE;  // of the tile
#pragma unroll
        for (int line = threadIdx.x / 8; line < PACK_EDGE; line += PACK_THREADS / 8) {
            vector_t<element_t, PACK_WIDTH> chunk = {};
            if (first_line + line < lines)
                chunk = load_chunk<WIDE>(&from[(first_line + line) * ld], first + threadIdx.x % 8 * PACK_WIDTH, elements);
            tile[line * 8 + line / PACK_WIDTH + threadIdx.x % 8] = reinterpret_cast<const uint4 &>(chunk);
        }
        __syncthreads();  // the tile is there

        const long long line = first + word * WORD, at = first_line + group * PACK_WIDTH;  // of the transpose
        if (line < lines_packed && at < ld_packed) {
            const unsigned int *const words = reinterpret_cast<const unsigned int *>(&tile[group * (8 * PACK_WIDTH + 1)]) + word;
            uint4 column[4];  // of each line, 16 bytes
#pragma unroll
            for (int w = 0; w < 4; ++w)
                column[w] = transpose_bytes(words[128 * w], words[128 * w + 32], words[128 * w + 64], words[128 * w + 96]);
            store_chunk(&to[line * ld_packed + at], uint4{column[0].x, column[1].x, column[2].x, column[3].x});
            if (line + 1 < lines_packed)
                store_chunk(&to[(line + 1) * ld_packed + at], uint4{column[0].y, column[1].y, column[2].y, column[3].y});
            if (line + 2 < lines_packed)
                store_chunk(&to[(line + 2) * ld_packed + at], uint4{column[0].z, column[1].z, column[2].z, column[3].z});
            if (line + 3 < lines_packed)
                store_chunk(&to[(line + 3) * ld_packed + at], uint4{column[0].w, column[1].w, column[2].w, column[3].w});
        }
        __syncthreads();  // everyone is done with it
    }
}

// Launch: PACK_THREADS threads in a block, any number of blocks in the grid.
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack_s8_1000x999x1008(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    input_t *M_packed,
    input_t *N_packed)
{
    // The kernel behind this one may get ready from now on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    __shared__ pack_tile_t tile;
    constexpr long long from_ld_m = 999;
    constexpr long long m_lines = 1024;  // of the packed M
    constexpr long long from_stride_m = 0;
    pack_lines<false>(M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (m_lines * ld_m), ld_m, m_lines, j, k, blockIdx.x);
    constexpr long long from_ld_n = 1008;
    constexpr long long n_lines = 1024;  // of the packed N
    constexpr long long from_stride_n = 0;
    transpose_lines<true>(tile, N + blockIdx.z * from_stride_n, from_ld_n, N_packed + blockIdx.z * (n_lines * ld_n), ld_n, n_lines, k, l, gridDim.x - 1 - blockIdx.x);
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
mma_s8_1000x999x1008(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    extern __shared__ phase_t tiles[];

    // This kernel may have started beside the one ahead, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t phases = (k + BK - 1) / BK;

    // The first row and column of P that this thread computes, in the block's tile. The next come 8 rows and columns further.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warp_row = warp / (BN / WN) * WM;
    const int warp_col = warp % (BN / WN) * WN;
    const int thread_row = warp_row + lane / 4;
    const int thread_col = warp_col + lane % 4 * 2;

    // This thread's share of the copies: its first elements in each tile, and how many lines the block comes further in one go.
    constexpr int M_WIDTH = 16;  // elements of one copy
    constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
    const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
    const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[(block_row + m_line) * ld_m + m_first];
    constexpr int N_WIDTH = 16;
    constexpr int N_GO = THREADS * N_WIDTH / N_LINE;
    const int n_line = threadIdx.x / (N_LINE / N_WIDTH);
    const int n_first = threadIdx.x % (N_LINE / N_WIDTH) * N_WIDTH;
    const input_t *n_from = &N[(block_col + n_line) * ld_n + n_first];

    // copy: the tiles of a phase.
    const auto copy = [&](phase_t &into) {
#pragma unroll
        for (int line = 0; line < M_LINES; line += M_GO) {
            input_t *to = &into.M[m_place(m_line + line, m_first)];
            copy_async<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m]);
        }
#pragma unroll
        for (int line = 0; line < N_LINES; line += N_GO) {
            input_t *to = &into.N[n_place(n_line + line, n_first)];
            copy_async<N_WIDTH * sizeof(input_t)>(to, &n_from[line * ld_n]);
        }
        m_from += BK;
        n_from += BK;
    };

    // load: the fragments of one step, for the rows and columns of this warp.
    fragment_t m[2][WM / 16][4], n[2][WN / 8][2];
    const auto load = [&](const phase_t &from, int step) {
#pragma unroll
        for (int r = 0; r < WM / 16; ++r) {
            const int row = warp_row + 16 * r;
            fragment_t (&fragment)[4] = m[step % 2][r];
            load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);
        }
#pragma unroll
        for (int c = 0; c < WN / 8; c += 2) {
            const int col = warp_col + 8 * c;
            fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
            load_matrices(fragment, &from.N[n_place(col + lane / 16 * 8 + lane % 8, step * K_STEP + lane / 8 % 2 * CHUNK)]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                n[step % 2][c + i / 2][i % 2] = fragment[i];
        }
    };

    // multiply: one step's products, added to the thread's sums.
    sum_t sum[TM][TN] = {};
    const auto multiply = [&](int step) {
#pragma unroll
        for (int r = 0; r < WM / 16; ++r)
#pragma unroll
            for (int i = 0; i < WN / 8; ++i) {
                // To and fro, so that a fragment in two neighbouring products is read once.
                const int c = r % 2 == 0 ? i : WN / 8 - 1 - i;
                const int col = 2 * c, next = col + 1;
                multiply_add(m[step % 2][r], n[step % 2][c], sum[2 * r][col], sum[2 * r][next], sum[2 * r + 1][col], sum[2 * r + 1][next]);
            }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        copy(tiles[s]);
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();

    int current = 0;        // the stage that is multiplied
    int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
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

    // store: the thread's sums, as elements of P.
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r * 8;
        if (Row >= j)
            break;  // rows of a thread only grow
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / 2 * 8 + c % 2;
            if (Col >= l)  // all P_VECTOR of them, or none
                break;
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}
