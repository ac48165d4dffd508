#include "parts/four_scales.cuh"  //@ only reads_scales

// Tensor cores multiply by scales, too, which they read in tensor memory. Its columns from the first one on have those of a phase, in
// words of four neighbours along k: first the words of all rows of M, then those of all columns of N. A column has those of 32 rows,
// one in each lane of a quarter, and in all quarters the same; a copy brings 128.
constexpr int SCALES_OF_STEP = 1;  // of a row
constexpr int SCALE_WORDS = 1;  // of a row in a phase
struct alignas(128) scales_t {
    unsigned M[SCALE_WORDS][(BM + 127) / 128 * 128];
    unsigned N[SCALE_WORDS][(BN + 127) / 128 * 128];
};

// Where the words of a row lie: as tensor memory takes them, those of rows 32 apart next to each other.
__device__ __forceinline__ constexpr int place_of_scales(int row)
{
    return row / 128 * 128 + row % 32 * 4 + row % 128 / 32;
}

// Copy what one phase needs. Products that are asked for later wait for it, and it waits for those that were asked for before.
__device__ __forceinline__ void copy_scales(unsigned to, const scales_t &from)
{
    constexpr unsigned long long OF_BLACKWELL = 1ULL << 46, EIGHT_LINES = 8 * 16 / 16;
#pragma unroll
    for (int copy = 0; copy < sizeof(scales_t) / 512; ++copy)
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;"  //@ cta_group for cta_group::1
                     ::"r"(to + copy * 4), "l"(OF_BLACKWELL | EIGHT_LINES << 32 | (shared_address(&from) & 0x3ffff) / 16 + copy * 32) : "memory");
}

// adds: to the sums that are there; otherwise they begin with this product. scales: the first of their columns. kk: of the phase.
__device__ __forceinline__ void multiply(unsigned sums, unsigned long long m, unsigned long long n, bool adds, unsigned scales, int kk)
{
    const int step = kk / K_STEP * SCALES_OF_STEP, word = step / 4, byte = step % 4;
    const unsigned product = PRODUCT | byte << 4 | byte << 29;
    const unsigned m_scales = scales + word * sizeof(scales_t::M[0]) / 128;
    const unsigned n_scales = scales + (sizeof(scales_t::M) + word * sizeof(scales_t::N[0])) / 128;
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%5], [%6], adds;\n"  //@ mma_name for tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale
        "}" ::"r"(sums), "l"(m), "l"(n), "r"(product), "r"(static_cast<int>(adds)), "r"(m_scales), "r"(n_scales) : "memory");
}

