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
            asm volatile("" : "+f"(sum[r][c])::"memory");  //@ sum_constraint for "+f"
}

//@ if promotes
//@| // adds: to the sums; otherwise the products take their place.
//@| __device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN], bool adds)
//@ else
__device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN])
//@ end
{
    asm volatile(
        //@ if promotes
        //@| "{\n"
        //@| ".reg .pred adds;\n"
        //@| "setp.ne.b32 adds, %18, 0;\n"  //@ adds_operand for 18
        //@ end
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "  //@ wgmma_name for wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
        "{%0, %1, %2, %3, %4, %5, %6, %7"
        //@ repeat more_sums
        ", %8, %9, %10, %11, %12, %13, %14, %15"
        //@ end
        //@ if promotes
        //@| "}, %16, %17, adds"  //@ m_operand for 16  //@ n_operand for 17
        //@ else
        "}, %16, %17, 1"  // 1: added to the sums  //@ m_operand for 16  //@ n_operand for 17
        //@ end
        //@ if not mma_integers
        ", 1, 1"  // neither factor is negated
        //@ end
        //@ if mma_halves
        ", 0"  // 1: M lies across k  //@ m_across for 0
        ", 1"  // 1: N lies across k  //@ n_across for 1
        //@ end
        //@ if promotes
        //@| ";\n"
        //@| "}"
        //@ else
        ";"
        //@ end
        //@ if mma_integers
        //@| : "+r"(upper[0]), "+r"(upper[1]), "+r"(lower[0]), "+r"(lower[1]), "+r"(upper[2]), "+r"(upper[3]), "+r"(lower[2]), "+r"(lower[3])
        //@ repeat more_sums
        //@| , "+r"(upper[4]), "+r"(upper[5]), "+r"(lower[4]), "+r"(lower[5]), "+r"(upper[6]), "+r"(upper[7]), "+r"(lower[6]), "+r"(lower[7])
        //@ end
        //@ else
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1]), "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        //@ repeat more_sums
        , "+f"(upper[4]), "+f"(upper[5]), "+f"(lower[4]), "+f"(lower[5]), "+f"(upper[6]), "+f"(upper[7]), "+f"(lower[6]), "+f"(lower[7])
        //@ end
        //@ end
        //@ if promotes
        //@| : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
        //@ else
        : "l"(m), "l"(n));
        //@ end
}

