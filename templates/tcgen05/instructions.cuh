// The tensor cores of Blackwell: a thread asks for the product of BM x K_STEP elements of M and K_STEP x BN of N, both in shared memory.  //@ rows_of_product for BM
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

#include "parts/of_warp.cuh"
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
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&address)), "n"(COLUMNS) : "memory");  //@ cta_group for cta_group::1
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");  //@ cta_group for cta_group::1
}

__device__ __forceinline__ void free_columns(unsigned address)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(COLUMNS) : "memory");  //@ cta_group for cta_group::1
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
constexpr unsigned SUM_TYPE = 1;  // f32  //@ sum_type_name for f32  //@ only not scales_products
//@| constexpr unsigned SCALE_TYPE = 1;  // e8m0  //@ scale_type_name for e8m0  //@ only scales_products
constexpr unsigned M_TYPE = 1;  // bf16  //@ m_type_name for bf16
constexpr unsigned N_TYPE = 1;  // bf16  //@ n_type_name for bf16
constexpr unsigned M_ACROSS = 0;  // 1: M lies across k
constexpr unsigned N_ACROSS = 1;  // 1: N lies across k
constexpr unsigned PRODUCT = SUM_TYPE << 4 | M_TYPE << 7 | N_TYPE << 10 | M_ACROSS << 15 | N_ACROSS << 16 | BN / 8 << 17 | BM / 16 << 24;  //@ rows_of_product for BM  //@ own_field for SUM_TYPE << 4

#include "tcgen05/multiply_unscaled.cuh"  //@ multiply
#include "tcgen05/arrive.cuh"  //@ arrivals_of_products
#include "parts/settle.cuh"
// Load the sums of 16 rows and LOAD columns. They are there after the wait of load_strip.
__device__ __forceinline__ void load_sums(unsigned from, sum_t *upper, sum_t *lower)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.16x256b.x2.b32 "  //@ load_name for tcgen05.ld.sync.aligned.16x256b.x2.b32
        "{%0, %1, %2, %3"
        //@ repeat more_loads
        ", %4, %5, %6, %7"
        //@ end
        "}, [%8];"  //@ load_operand for 8
        : "=f"(upper[0]), "=f"(upper[1]), "=f"(lower[0]), "=f"(lower[1])  //@ load_constraint for "=f"  //@ load_constraint for "=f"  //@ load_constraint for "=f"  //@ load_constraint for "=f"
        //@ repeat more_loads
        , "=f"(upper[2]), "=f"(upper[3]), "=f"(lower[2]), "=f"(lower[3])  //@ load_constraint for "=f"  //@ load_constraint for "=f"  //@ load_constraint for "=f"  //@ load_constraint for "=f"
        //@ end
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

