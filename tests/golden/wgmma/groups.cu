// j1024 k4096 l14336 e4m3 P:f32 compute:f32_fp8 N:col scale_m:each scale_n groups=8
//
//     P_g (j_g x 14336) = scale_m * M_g (j_g x 4096) . N_g (4096 x 14336) * scale_n
//
// Tensor cores multiply whole tiles of shared memory, and copies of whole tiles bring them there: both go on beside the threads, which
// only say when. The warpgroups of a block, of 128 threads each, divide the work. The first one brings the tiles of M and N, a phase
// of BK after the other, into a ring of STAGES; the MULTIPLIERS that follow multiply them, each WM rows of the block's
// tile of P. Two barriers for each place of the ring keep them together:
//
//                 brings                            multiplies
//        wait      empty: all have multiplied        full: the tiles are there
//                  what was there before
//        do        copy the tiles of a phase         multiply them
//        arrive    full, with the last byte          empty
//
// A block computes one tile of P after the other, as long as there are any: while the last sums of one are stored, the first phases of
// the next are on their way.

// A float of 8 bits for storage: 4 bits of exponent, 3 of fraction, no infinity (sm_89 and newer).
struct e4m3 {
    unsigned char bits;

    __device__ operator float() const
    {
        unsigned int pair;  // of halves
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<unsigned short>(bits)));
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(pair)));
        return value;
    }
};

using input_t = e4m3;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t all_rows = 1024;  // of M and P, in all groups
constexpr index_t k = 4096;
constexpr index_t l = 14336;
constexpr index_t ld_m = k;
constexpr index_t ld_n = k;
constexpr index_t ld_p = l;
constexpr long long stride_n = 58720256;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 128;  // 128 bytes of elements
constexpr int K_STEP = 32;  // elements along k of one product of the tensor cores
constexpr int MULTIPLIERS = 2;
constexpr int WM = BM / MULTIPLIERS;  // rows of a warpgroup
constexpr int TM = WM / 32;  // elements of a thread in a column of P
constexpr int TN = BN / 4;  // and in a row
constexpr int THREADS = 128 * (1 + MULTIPLIERS);
constexpr int STAGES = 6;
constexpr int BLOCKS = 1;
constexpr int GROUP = 8;
constexpr int SLICE = 64;  // columns of P that a warp stores at once, 16 rows high
constexpr int P_VECTOR = 4;  // neighbours that a lane stores at once

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

// Barriers in shared memory (mbarrier). A phase of one ends when as many have arrived as it was made for, and all bytes are there that
// were announced. Phases take turns as 0 and 1: who waits says which one is to end.
using barrier_t = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void make_barrier(barrier_t &barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// What was made is there for the copy engine too.
__device__ __forceinline__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrive, and announce so many bytes that copies will bring.
__device__ __forceinline__ void arrive_and_expect(barrier_t &barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(barrier_t &barrier, int phase)
{
    asm volatile(
        "{\n"
        ".reg .pred is_over;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 is_over, [%0], %1;\n"
        "@!is_over bra again;\n"
        "}" ::"r"(shared_address(&barrier)), "r"(phase) : "memory");
}

// Copies of boxes out of a matrix that a tensor map describes, past the registers and threads (TMA). What lies outside the matrix
// becomes zero. The bytes that arrive are counted by a barrier.
struct alignas(128) tensor_map_t {
    unsigned char bytes[128];
};

__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)) : "memory");
}

__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, int product, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(product), "r"(shared_address(&barrier)) : "memory");
}

// The tensor cores of Hopper: the four warps of a warpgroup multiply 64 x K_STEP elements of M by K_STEP x BN of N, both read from
// shared memory, and add the products to their sums. It goes on beside the threads, until they wait for it.
//
// A warp has 16 of the 64 rows; its lanes have two columns of every 8, in two rows:
//
//              columns 0 1   2 3   4 5   6 7   8 9 ...
//     row 0    lane    0     1     2     3     0
//     row 1            4     5     6     7     4         upper
//       :              :
//     row 8            0     1     2     3     0         lower
//       :
//
// Tiles lie in lines of 128 bytes, whose 16-byte chunks have changed places as the copies made them: the pattern repeats every 8
// lines. A descriptor says where a tile begins, and how far apart its parts are.
__device__ __forceinline__ unsigned long long descriptor(const void *tile, int from_block_to_block)
{
    constexpr unsigned long long SWIZZLED_BY_128 = 1ULL << 62;
    constexpr unsigned long long EIGHT_LINES = 8 * 128 / 16;
    return SWIZZLED_BY_128 | EIGHT_LINES << 32 | static_cast<unsigned long long>(from_block_to_block / 16) << 16 | (shared_address(tile) & 0x3ffff) / 16;
}

// The descriptor of what begins so many bytes later.
__device__ __forceinline__ unsigned long long moved(unsigned long long descriptor, unsigned bytes)
{
    return descriptor + bytes / 16;
}

// What all lanes of a warp have the same of, from one of them: so the compiler computes descriptors once for the warp, and not in each
// thread.
__device__ __forceinline__ int of_warp(int value)
{
    return __shfl_sync(0xffffffff, value, 0);
}

// Sums, and what shared memory holds, are the tensor cores' from here on.
__device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until no more than so many groups of products are still on their way.
template <int LEFT>
__device__ __forceinline__ void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// What is done with the sums on one side of this may not be moved to the other.
__device__ __forceinline__ void settle(sum_t (&sum)[TM][TN])
{
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            asm volatile("" : "+f"(sum[r][c])::"memory");
}

// adds: to the sums; otherwise the products take their place.
__device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 "
        "{%0, %1, %2, %3, %4, %5, %6, %7"
        ", %8, %9, %10, %11, %12, %13, %14, %15"
        ", %16, %17, %18, %19, %20, %21, %22, %23"
        ", %24, %25, %26, %27, %28, %29, %30, %31"
        ", %32, %33, %34, %35, %36, %37, %38, %39"
        ", %40, %41, %42, %43, %44, %45, %46, %47"
        ", %48, %49, %50, %51, %52, %53, %54, %55"
        ", %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, adds"
        ", 1, 1"  // neither factor is negated
        ";\n"
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1]), "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        , "+f"(upper[4]), "+f"(upper[5]), "+f"(lower[4]), "+f"(lower[5]), "+f"(upper[6]), "+f"(upper[7]), "+f"(lower[6]), "+f"(lower[7])
        , "+f"(upper[8]), "+f"(upper[9]), "+f"(lower[8]), "+f"(lower[9]), "+f"(upper[10]), "+f"(upper[11]), "+f"(lower[10]), "+f"(lower[11])
        , "+f"(upper[12]), "+f"(upper[13]), "+f"(lower[12]), "+f"(lower[13]), "+f"(upper[14]), "+f"(upper[15]), "+f"(lower[14]), "+f"(lower[15])
        , "+f"(upper[16]), "+f"(upper[17]), "+f"(lower[16]), "+f"(lower[17]), "+f"(upper[18]), "+f"(upper[19]), "+f"(lower[18]), "+f"(lower[19])
        , "+f"(upper[20]), "+f"(upper[21]), "+f"(lower[20]), "+f"(lower[21]), "+f"(upper[22]), "+f"(upper[23]), "+f"(lower[22]), "+f"(lower[23])
        , "+f"(upper[24]), "+f"(upper[25]), "+f"(lower[24]), "+f"(lower[25]), "+f"(upper[26]), "+f"(upper[27]), "+f"(lower[26]), "+f"(lower[27])
        , "+f"(upper[28]), "+f"(upper[29]), "+f"(lower[28]), "+f"(lower[29]), "+f"(upper[30]), "+f"(upper[31]), "+f"(lower[30]), "+f"(lower[31])
        : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
}

// What one phase needs, in blocks of lines of 128 bytes: BK elements along k or, where neighbours in memory lie across k, as many
// elements across it.
constexpr int LINE = 128 / sizeof(input_t);
constexpr int M_BLOCKS = 1, M_LINES = BM;  // one block, whose lines are rows of M
constexpr int N_BLOCKS = 1, N_LINES = BN;  // one block, whose lines are columns of N
struct __align__(1024) phase_t {
    input_t M[M_BLOCKS][M_LINES][LINE];
    input_t N[N_BLOCKS][N_LINES][LINE];
};
struct shared_t {
    phase_t phase[STAGES];
    sum_t lines[4 * MULTIPLIERS][16][SLICE];  // what each warp stores of P
    barrier_t full[STAGES];   // its tiles have come
    barrier_t empty[STAGES];  // nobody needs them any more
};

// Where a product's elements begin in a tile, in bytes: so many rows (columns) from the tile's first, and so many elements along k.
__device__ constexpr int m_offset(int row, int kk)
{
    return (row * LINE + kk) * sizeof(input_t);
}

__device__ constexpr int n_offset(int kk)
{
    return kk * sizeof(input_t);
}

// Where a sum lies: groups of 8 have changed places, so that lanes meet in no bank.
__device__ __forceinline__ sum_t &in_lines(sum_t (&lines)[16][SLICE], int row, int col)
{
    return lines[row][col ^ row % (SLICE / 8) * 8];
}

// The rows of M and P belong to GROUPS products, one after the other, and each of these has an N of its own: the rows of group g begin
// at offsets[g] and end before offsets[g + 1]. A tile of P has rows of one group, so that the last one of a group may be short.
//
// Whatever the offsets are, no row lies outside of M and P, and none belongs to two groups: an offset that is too small or too large
// counts as the first or the last that there can be, and one that is below an earlier one as that one.
constexpr int GROUPS = 8;
using offset_t = int;

// A group, its rows, how many rows of tiles it has, and how many all groups in front of it.
struct group_t {
    int number;
    index_t begin, end;
    int tiles, before;
};

__device__ __forceinline__ index_t row_at(const offset_t *offsets, int i, index_t all_rows)
{
    const offset_t row = offsets[i];
    return row < 0 ? 0 : row > all_rows ? all_rows : static_cast<index_t>(row);
}

// The lanes of a warp look at 32 groups at once. from: where the first of these begins, and then where the last one ends.
__device__ __forceinline__ void look_at(const offset_t *offsets, index_t all_rows, int group, index_t &from, index_t &begin, index_t &end)
{
    end = max(from, row_at(offsets, min(group + 1, GROUPS), all_rows));
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        end = max(end, __shfl_up_sync(0xffffffff, end, step));
    begin = __shfl_up_sync(0xffffffff, end, 1);
    if (threadIdx.x % 32 == 0)
        begin = from;
    from = __shfl_sync(0xffffffff, end, 31);
}

// Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
__device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
{
    const int lane = threadIdx.x % 32;
    index_t from = row_at(offsets, 0, all_rows);
    int before = 0;  // in groups that were looked at
    for (int group = lane; group - lane < GROUPS; group += 32) {
        index_t begin, end;
        look_at(offsets, all_rows, group, from, begin, end);
        const int tiles = (end - begin + height - 1) / height;
        int up_to = tiles;  // those of the groups up to this one
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int lower = __shfl_up_sync(0xffffffff, up_to, step);
            if (lane >= step)
                up_to += lower;
        }
        up_to += before;
        const unsigned further = __ballot_sync(0xffffffff, row < up_to);
        if (further != 0) {
            const int owner = __ffs(further) - 1;
            found.number = __shfl_sync(0xffffffff, group, owner);
            found.begin = __shfl_sync(0xffffffff, begin, owner);
            found.end = __shfl_sync(0xffffffff, end, owner);
            found.tiles = __shfl_sync(0xffffffff, tiles, owner);
            found.before = __shfl_sync(0xffffffff, up_to - tiles, owner);
            return true;
        }
        before = __shfl_sync(0xffffffff, up_to, 31);
    }
    return false;
}

// How many rows of tiles there are.
__device__ __forceinline__ int count_tiles(const offset_t *offsets, index_t all_rows, int height)
{
    index_t from = row_at(offsets, 0, all_rows);
    int tiles = 0;
    for (int group = threadIdx.x % 32; group - static_cast<int>(threadIdx.x) % 32 < GROUPS; group += 32) {
        index_t begin, end;
        look_at(offsets, all_rows, group, from, begin, end);
        tiles += (end - begin + height - 1) / height;
    }
    for (int step = 16; step > 0; step /= 2)
        tiles += __shfl_xor_sync(0xffffffff, tiles, step);
    return tiles;
}

// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wgmma_e4m3_1024x4096x14336(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    long long stride_scale_n,
    const float *__restrict__ scale_m,
    const float *__restrict__ scale_n,
    const offset_t *__restrict__ offsets,
    output_t *P)
{
    extern __shared__ shared_t shared[];
    phase_t (&tiles)[STAGES] = shared->phase;
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full[stage], 1);
            make_barrier(empty[stage], 4 * MULTIPLIERS);  // a lane of each warp arrives
        }
        publish_barriers();
    }
    __syncthreads();

    const int phases = (k + BK - 1) / BK;
    // Tiles that are multiplied at the same time should find their rows of M and columns of N in the L2: GROUP rows of tiles are walked
    // together, column by column.
    // Rows of one group of rows, that is, for another one has another N.
    const int rows = count_tiles(offsets, all_rows, BM), cols = (l + BN - 1) / BN;
    const auto place_of = [&](int tile, group_t &group, index_t &block_row, index_t &block_col) {
        find_group(offsets, all_rows, BM, tile / cols, group);
        tile -= group.before * cols;
        const int first = tile / (GROUP * cols) * GROUP;
        const int height = min(GROUP, group.tiles - first);
        block_row = group.begin + static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
        block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
    };
    const int warpgroup = of_warp(threadIdx.x / 128);
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&](int places) {
        stage += places;
        if (stage >= STAGES) {
            stage -= STAGES;
            turn ^= 1;
        }
    };

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        // A warp finds out whose rows a tile has, and one of its threads starts all copies.
        if (threadIdx.x < 32) {
            for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
                group_t group;
                index_t block_row, block_col;
                place_of(tile, group, block_row, block_col);
                if (threadIdx.x > 0)
                    continue;
                for (int phase = 0; phase < phases; ++phase) {
                    const int kk = phase * BK;
                    wait(empty[stage], turn ^ 1);  // what is new counts as empty
                    arrive_and_expect(full[stage], sizeof(phase_t));
                    copy_box(&tiles[stage].M, M_map, kk, block_row, full[stage]);
                    copy_box(&tiles[stage].N, N_map, kk, block_col, group.number, full[stage]);
                    pass(1);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        // The first rows of P that this warpgroup and this warp compute, in the block's tile.
        const int lane = threadIdx.x % 32;
        const int group_row = (warpgroup - 1) * WM;
        const int warp = threadIdx.x / 32 - 4;
        const int warp_row = group_row + warp % 4 * 16;
        // What this warpgroup multiplies at the ring's first place; all else lies so many bytes further on.
        const auto m_first = moved(descriptor(&tiles[0].M, sizeof(tiles[0].M[0])), m_offset(group_row, 0));
        const auto n_first = descriptor(&tiles[0].N, sizeof(tiles[0].N[0]));
        sum_t (&lines)[16][SLICE] = shared->lines[warp];
        const float *const all_scales_n = scale_n;

        for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
            group_t group;
            index_t block_row, block_col;
            place_of(tile, group, block_row, block_col);
            const index_t j = group.end;  // row j belongs to the next group
            scale_n = all_scales_n + group.number * stride_scale_n;
            // One scale for all of N: a thread reads it once.
            const float n_scale = *scale_n;
            sum_t sum[TM][TN] = {};
            settle(sum);
            // Tensor cores keep 13 bits of a sum of such products. So they add up one phase alone, and the threads all phases.
            sum_t part[TM][TN];  // of one phase
            sum_t other[TM][TN];  // and of the next: while it is made, the first is added up
            const auto multiply = [&](sum_t (&made)[TM][TN]) {
                const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
                wait(full[stage], turn);
                begin_products();
#pragma unroll
                for (int kk = 0; kk < BK; kk += K_STEP)
#pragma unroll
                    for (int r = 0; r < TM; r += 2)
                        multiply_add(moved(m, m_offset(r * 32, kk)), moved(n, n_offset(kk)), made[r], made[r + 1], kk > 0);
                commit_products();
                pass(1);
            };
            const auto add = [&](sum_t (&made)[TM][TN], int place) {
                if (lane == 0)
                    arrive(empty[place]);
                settle(made);
#pragma unroll
                for (int r = 0; r < TM; ++r)
#pragma unroll
                    for (int c = 0; c < TN; ++c)
                        sum[r][c] += made[r][c];
            };
            if (phases % 2 > 0) {
                const int place = stage;
                multiply(part);
                wait_for_products<0>();
                add(part, place);
            }
            for (int phase = phases % 2; phase < phases; phase += 2) {
                const int place = stage;
                multiply(part);
                const int other_place = stage;
                multiply(other);
                wait_for_products<1>();
                add(part, place);
                wait_for_products<0>();
                add(other, other_place);
            }
            settle(sum);
            // store: what a lane has, two columns of every eight in two rows, would make short stores. So a warp lays 16 rows of SLICE columns in
            // shared memory, and its lanes take up as many sums as they gave: P_VECTOR neighbours of a row each time.
#pragma unroll
            for (int top = 0; top < TM; top += 2)
#pragma unroll
                for (int first = 0; first < TN; first += SLICE / 4) {
                    __syncwarp();  // all have taken the last ones
#pragma unroll
                    for (int r = top; r < top + 2; ++r)
#pragma unroll
                        for (int c = first; c < first + SLICE / 4; c += 2) {
                            const vector_t<sum_t, 2> pair = {sum[r][c], sum[r][c + 1]};
                            reinterpret_cast<vector_t<sum_t, 2> &>(in_lines(lines, r % 2 * 8 + lane / 4, (c - first) * 4 + lane % 4 * 2)) = pair;
                        }
                    __syncwarp();
#pragma unroll
                    for (int r = top; r < top + 2; ++r)
#pragma unroll
                        for (int c = first; c < first + SLICE / 4; c += P_VECTOR) {
                            const int place = (r % 2 * (SLICE / 4) + c - first) * 32 + lane * P_VECTOR;
                            const index_t Row = block_row + warp_row + top * 32 + place / SLICE;
                            const index_t Col = block_col + first * 4 + place % SLICE;
                            if (Row >= j)  // all P_VECTOR of them, or none
                                continue;
                            const auto taken = read<P_VECTOR>(&in_lines(lines, place / SLICE, place % SLICE));
#pragma unroll
                            for (int i = 0; i < P_VECTOR; ++i)
                                sum[r][c + i] = taken.element[i];
                            vector_t<output_t, P_VECTOR> value;
#pragma unroll
                            for (int i = 0; i < P_VECTOR; ++i) {
                                sum[r][c + i] *= scale_m[Row];
                                sum[r][c + i] *= n_scale;
                                value.element[i] = static_cast<output_t>(sum[r][c + i]);
                            }
                            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
                        }
                }
        }
    }
}
