// j512 k304 l704 bf16
//
//     P (512 x 704) = M (512 x 304) . N (304 x 704)
//
// Tensor cores multiply whole tiles of shared memory, and keep the sums in a memory of their own, tensor memory. Copies of whole tiles
// bring what they multiply. All of it goes on next to the threads, which only say when. The warps of a block divide the work:
//
//                 warp 0 brings             warp 1 multiplies            warps 4 to 7 store
//        wait      empty: all is             full: the tiles are there    done: the sums of a tile are made
//                  multiplied that was       taken: so are the sums that
//                  there before              were there before
//        do        copy the tiles of         multiply them, and add up    read the sums, finish them, and store
//                  a phase of BK                                          them as P
//        arrive    full, with the            empty, when multiplied;      taken, when all are read
//                  last byte                 done, after the last phase
//
// The tiles of STAGES phases have places in a ring in shared memory. Tensor memory has the sums of two tiles of P: while those of one are
// stored, those of the next are made. A block computes one tile after the other, as long as there are any.

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

using input_t = bfloat16;
using output_t = bfloat16;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 304;
constexpr index_t l = 704;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;  // 128 bytes of elements
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int STRIP = 64;  // columns of sums that a warp reads at once, BM / 4 rows high
constexpr int LOAD = 64;  // and with one instruction, 16 rows high
constexpr int TM = BM / 32;  // elements of a thread in a column of P
constexpr int TN = STRIP / 4;  // and in a row
constexpr int THREADS = 256;
constexpr int STAGES = 6;
constexpr int COLUMNS = 256;  // of tensor memory: twice BN, rounded up to a power of two, and at least 32
constexpr int GROUP = 8;
constexpr int SLICE = 64;  // columns of P that a warp stores at once, 16 rows high
constexpr int P_VECTOR = 2;  // neighbours that a lane stores at once
constexpr int BOXES = 4;  // of a warp: one is filled while another is stored

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

// The other way, from shared memory. Nothing of a box may change until the engine has read it.
__device__ __forceinline__ void store_box(const tensor_map_t &to, const void *from, int element, int line)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&to), "r"(element), "r"(line), "r"(shared_address(from)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until no more than so many of the boxes that this thread has stored are still to be read.
template <int LEFT>
__device__ __forceinline__ void wait_until_stored()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

// What this thread has written to shared memory is there for the copy engine, and for the tensor cores, too.
__device__ __forceinline__ void publish_stores()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The tensor cores of Blackwell: a thread asks for the product of BM x K_STEP elements of M and K_STEP x BN of N, both in shared memory.
// The tensor cores add it to sums in tensor memory, which has 128 lanes of 512 columns: row r of the product in lane r, column c of it in
// column c, counted from the first. A quarter of the lanes belongs to each of four warps.
// Of 64 rows, each quarter has 16, in its first lanes.
//
// A warp loads 16 rows at once; its lanes then have two columns of every 8, in two rows:
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
    constexpr unsigned long long SWIZZLED_BY_128 = 2ULL << 61, OF_BLACKWELL = 1ULL << 46;
    constexpr unsigned long long EIGHT_LINES = 8 * 128 / 16;
    return SWIZZLED_BY_128 | OF_BLACKWELL | EIGHT_LINES << 32 | static_cast<unsigned long long>(from_block_to_block / 16) << 16 | (shared_address(tile) & 0x3ffff) / 16;
}

// The descriptor of what begins so many bytes later. Its upper half stays: ptxas has lost it in sums of 64 bits.
__device__ __forceinline__ unsigned long long moved(unsigned long long descriptor, unsigned bytes)
{
    return (descriptor & 0xffffffff00000000ULL) | (static_cast<unsigned>(descriptor) + bytes / 16);
}

// Broadcast a warp-uniform value from lane 0, so that the compiler computes descriptors once for the warp, not in each thread.
__device__ __forceinline__ int of_warp(int value)
{
    return __shfl_sync(0xffffffff, value, 0);
}

// One lane of the warp, the same in all of them.
__device__ __forceinline__ bool is_elected()
{
    int elected;
    asm volatile(
        "{\n"
        ".reg .pred is_this;\n"
        "elect.sync _|is_this, 0xffffffff;\n"
        "selp.b32 %0, 1, 0, is_this;\n"
        "}" : "=r"(elected));
    return elected;
}

// A warp asks for columns of tensor memory, and has to free them before the block ends. Their address comes to shared memory. If another
// block of the multiprocessor has too many of them, it waits.
__device__ __forceinline__ void allocate_columns(unsigned &address)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&address)), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void free_columns(unsigned address)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(COLUMNS) : "memory");
}

// Tensor memory is accessed next to the threads. So a barrier orders it only between these two fences: one before it, in the thread that is
// done, and one after it, in the thread that goes on.
__device__ __forceinline__ void fence_before_barrier()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

__device__ __forceinline__ void fence_after_barrier()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// Types and extents of a product, as the instruction takes them.
constexpr unsigned SUM_TYPE = 1;  // f32
constexpr unsigned M_TYPE = 1;  // bf16
constexpr unsigned N_TYPE = 1;  // bf16
constexpr unsigned M_ACROSS = 0;  // 1: M lies across k
constexpr unsigned N_ACROSS = 1;  // 1: N lies across k
constexpr unsigned PRODUCT = SUM_TYPE << 4 | M_TYPE << 7 | N_TYPE << 10 | M_ACROSS << 15 | N_ACROSS << 16 | BN / 8 << 17 | BM / 16 << 24;

// adds: to the sums that are there; otherwise they begin with this product.
__device__ __forceinline__ void multiply(unsigned sums, unsigned long long m, unsigned long long n, bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds;\n"
        "}" ::"r"(sums), "l"(m), "l"(n), "r"(PRODUCT), "r"(static_cast<int>(adds)) : "memory");
}

// Arrive when all products are made that this thread has asked for.
__device__ __forceinline__ void arrive_with_products(barrier_t &barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// What is done with the sums on one side of this may not be moved to the other.
template <int ROWS>
__device__ __forceinline__ void settle(sum_t (&sum)[ROWS][TN])
{
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            asm volatile("" : "+f"(sum[r][c])::"memory");
}

// Load the sums of 16 rows and LOAD columns. They are there after the wait of load_strip.
__device__ __forceinline__ void load_sums(unsigned from, sum_t *upper, sum_t *lower)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.16x256b.x8.b32 "
        "{%0, %1, %2, %3"
        ", %4, %5, %6, %7"
        ", %8, %9, %10, %11"
        ", %12, %13, %14, %15"
        ", %16, %17, %18, %19"
        ", %20, %21, %22, %23"
        ", %24, %25, %26, %27"
        ", %28, %29, %30, %31"
        "}, [%32];"
        : "=f"(upper[0]), "=f"(upper[1]), "=f"(lower[0]), "=f"(lower[1])
        , "=f"(upper[2]), "=f"(upper[3]), "=f"(lower[2]), "=f"(lower[3])
        , "=f"(upper[4]), "=f"(upper[5]), "=f"(lower[4]), "=f"(lower[5])
        , "=f"(upper[6]), "=f"(upper[7]), "=f"(lower[6]), "=f"(lower[7])
        , "=f"(upper[8]), "=f"(upper[9]), "=f"(lower[8]), "=f"(lower[9])
        , "=f"(upper[10]), "=f"(upper[11]), "=f"(lower[10]), "=f"(lower[11])
        , "=f"(upper[12]), "=f"(upper[13]), "=f"(lower[12]), "=f"(lower[13])
        , "=f"(upper[14]), "=f"(upper[15]), "=f"(lower[14]), "=f"(lower[15])
        : "r"(from) : "memory");
}

// Load the sums of a strip, from an address in this warp's quarter on.
__device__ __forceinline__ void load_strip(unsigned from, sum_t (&sum)[TM][TN])
{
#pragma unroll
    for (int r = 0; r < TM; r += 2)
#pragma unroll
        for (int c = 0; c < TN; c += LOAD / 4)
            load_sums(from + (r * 8 << 16) + c * 4, &sum[r][c], &sum[r + 1][c]);
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    settle(sum);
}

// What one phase needs, in blocks of lines of 128 bytes: BK elements along k or, where neighbours in memory lie across k, as many
// elements across it.
constexpr int LINE = 128 / sizeof(input_t);
constexpr int M_BLOCKS = 1, M_LINES = BM;  // one block, whose lines are rows of M
constexpr int N_BLOCKS = (BN + LINE - 1) / LINE, N_LINES = BK;  // a block for every LINE columns
struct __align__(1024) phase_t {
    input_t M[M_BLOCKS][M_LINES][LINE];
    input_t N[N_BLOCKS][N_LINES][LINE];
};
struct shared_t {
    phase_t phase[STAGES];
    output_t boxes[4][BOXES][16 * SLICE];  // what each warp stores of P
    barrier_t full[STAGES];   // its tiles have come
    barrier_t empty[STAGES];  // nobody needs them any more
    barrier_t done[2];   // the sums of a tile are made
    barrier_t taken[2];  // all warps have read them
    unsigned sums;       // the address of the columns of tensor memory that this block has
};

// Where an element lies in a box: its 16-byte chunk has changed places with others of 128 bytes, so that lanes meet in no bank.
__device__ __forceinline__ output_t &in_box(output_t *box, int row, int col)
{
    constexpr int CHUNKS = SLICE * sizeof(output_t) / 16;  // of a row
    const int at = (row * SLICE + col) * sizeof(output_t);
    return box[(at ^ at / 128 % CHUNKS * 16) / sizeof(output_t)];
}

// Where a product's elements begin in a tile, in bytes: so many rows (columns) from the tile's first, and so many elements along k.
__device__ constexpr int m_offset(int row, int kk)
{
    return (row * LINE + kk) * sizeof(input_t);
}

__device__ constexpr int n_offset(int kk)
{
    return kk * 128;
}

// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
tcgen05_bf16_512x304x704(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    const __grid_constant__ tensor_map_t P_map)
{
    extern __shared__ shared_t shared[];
    phase_t (&tiles)[STAGES] = shared->phase;
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;
    barrier_t (&done)[2] = shared->done, (&taken)[2] = shared->taken;

    const int warp_of_block = of_warp(threadIdx.x / 32);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full[stage], 1);
            make_barrier(empty[stage], 1);
        }
        for (int tile = 0; tile < 2; ++tile) {
            make_barrier(done[tile], 1);
            make_barrier(taken[tile], 4);  // a lane of each warp that stores arrives
        }
        publish_barriers();
    }
    if (warp_of_block == 1)
        allocate_columns(shared->sums);
    fence_before_barrier();
    __syncthreads();
    fence_after_barrier();
    const unsigned sums = shared->sums;
    // This kernel may have started before the previous one has ended, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    const int phases = (k + BK - 1) / BK;
    // Tiles that are multiplied at the same time should find their rows of M and columns of N in the L2: GROUP rows of tiles are walked
    // together, column by column.
    const int rows = (j + BM - 1) / BM, cols = (l + BN - 1) / BN;
    const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
        const int first = tile / (GROUP * cols) * GROUP;
        const int height = min(GROUP, rows - first);
        block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
        block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
    };
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&](int places) {
        stage += places;
        if (stage >= STAGES) {
            stage -= STAGES;
            turn ^= 1;
        }
    };

    if (warp_of_block == 0) {
        // One thread starts all copies.
        if (threadIdx.x == 0) {
            for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
                index_t block_row, block_col;
                place_of(tile, block_row, block_col);
                for (int phase = 0; phase < phases; ++phase) {
                    const int kk = phase * BK;
                    wait(empty[stage], turn ^ 1);  // what is new counts as empty
                    arrive_and_expect(full[stage], sizeof(phase_t));
                    copy_box(&tiles[stage].M, M_map, kk, block_row, full[stage]);
#pragma unroll
                    for (int block = 0; block < N_BLOCKS; ++block)
                        copy_box(&tiles[stage].N[block], N_map, block_col + block * LINE, kk, full[stage]);
                    pass(1);
                }
            }
        }
    } else if (warp_of_block == 1) {
        // One thread asks for all products. What it multiplies at the ring's first place; all else lies so many bytes further on.
        const auto m_first = descriptor(&tiles[0].M, sizeof(tiles[0].M[0])), n_first = descriptor(&tiles[0].N, sizeof(tiles[0].N[0]));
        if (is_elected()) {
            for (int tile = blockIdx.x, number = 0; tile < rows * cols; tile += gridDim.x, ++number) {
                wait(taken[number % 2], number / 2 % 2 ^ 1);  // what is new counts as taken
                fence_after_barrier();
                for (int phase = 0; phase < phases; ++phase) {
                    const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
                    wait(full[stage], turn);
                    fence_after_barrier();
#pragma unroll
                    for (int kk = 0; kk < BK; kk += K_STEP)
                        multiply(sums + number % 2 * BN, moved(m, m_offset(0, kk)), moved(n, n_offset(kk)), phase > 0 || kk > 0);
                    arrive_with_products(empty[stage]);
                    pass(1);
                }
                arrive_with_products(done[number % 2]);
            }
        }
        __syncwarp();
    } else if (warp_of_block >= 4) {
        // The first rows of P that this warp stores, in the block's tile: those in its quarter of tensor memory.
        const int lane = threadIdx.x % 32;
        const int warp = warp_of_block - 4;
        const int warp_row = warp * (BM / 4);
        const unsigned quarter = sums + (warp * 32 << 16);
        output_t (&boxes)[BOXES][16 * SLICE] = shared->boxes[warp];
        int next_box = 0;
        for (int tile = blockIdx.x, number = 0; tile < rows * cols; tile += gridDim.x, ++number) {
            index_t block_row, block_col;
            place_of(tile, block_row, block_col);
            wait(done[number % 2], number / 2 % 2);
            fence_after_barrier();
            // One strip of columns after the other, from block_col on.
            for (int strip = 0; strip < BN; strip += STRIP, block_col += STRIP) {
                sum_t sum[TM][TN];
                load_strip(quarter + number % 2 * BN + strip, sum);
                if (strip + STRIP == BN) {
                    fence_before_barrier();
                    if (lane == 0)
                        arrive(taken[number % 2]);
                }
                // store: a warp finishes its sums and lays them in a box of shared memory, 16 rows of SLICE columns at a time. The copy engine
                // stores the boxes, without what lies outside P, while the warp goes on.
#pragma unroll
                for (int top = 0; top < TM; top += 2)
#pragma unroll
                    for (int first = 0; first < TN; first += SLICE / 4) {
                        const index_t box_row = block_row + warp_row + top * 8, box_col = block_col + first * 4;
                        output_t *const box = boxes[next_box];
                        if (lane == 0)
                            wait_until_stored<BOXES - 1>();  // the box's last content
                        __syncwarp();
#pragma unroll
                        for (int c = first; c < first + SLICE / 4; c += 2) {
                            const int col = (c - first) * 4 + lane % 4 * 2;  // in the box
#pragma unroll
                            for (int r = top; r < top + 2; ++r) {
                                const int row = r % 2 * 8 + lane / 4;
                                vector_t<output_t, P_VECTOR> value;
#pragma unroll
                                for (int i = 0; i < P_VECTOR; ++i) {
                                    value.element[i] = static_cast<output_t>(sum[r][c + i]);
                                }
                                reinterpret_cast<vector_t<output_t, P_VECTOR> &>(in_box(box, row, col)) = value;
                            }
                        }
                        publish_stores();
                        __syncwarp();
                        if (lane == 0)
                            store_box(P_map, box, box_col, box_row);
                        next_box = (next_box + 1) % BOXES;
                    }
            }
        }
        if (lane == 0)
            wait_until_stored<0>();
    }
    fence_before_barrier();
    __syncthreads();
    fence_after_barrier();
    if (warp_of_block == 1)
        free_columns(sums);
}
