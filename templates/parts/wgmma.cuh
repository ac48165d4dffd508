// The tensor cores of Hopper: the four warps of a warpgroup multiply 64 x K_STEP elements of M by K_STEP x BN of N, both read from
// shared memory, and add the products to their sums. It goes on next to the threads, until they wait for it.
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

#include "parts/moved.cuh"
#include "parts/of_warp.cuh"
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

#include "parts/settle.cuh"
#include "wgmma/multiply_add.cuh"  //@ multiply_add
