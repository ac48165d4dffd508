constexpr int DECIDE_THREADS = 256;

// The extremes of two sets of lines.
__device__ __forceinline__ line_t worst_of(const line_t &a, const line_t &b)
{
    return {max(a.most, b.most), min(a.least, b.least), max(a.small, b.small), min(a.large, b.large)};
}

__device__ __forceinline__ line_t worst_of_block(line_t worst)
{
    __shared__ line_t of_warp[DECIDE_THREADS / 32];
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        worst = worst_of(worst, {__shfl_xor_sync(~0u, worst.most, other), __shfl_xor_sync(~0u, worst.least, other),
                                 __shfl_xor_sync(~0u, worst.small, other), __shfl_xor_sync(~0u, worst.large, other)});
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = worst;
    __syncthreads();
    for (int warp = 0; warp < DECIDE_THREADS / 32; ++warp)
        worst = worst_of(worst, of_warp[warp]);
    return worst;
}

__device__ __forceinline__ int choose_path(const line_t &m, const line_t &n)
{
    constexpr unsigned int INFINITE = 0x7f800000;
    if (m.most >= INFINITE || n.most >= INFINITE)
        return PATH_F32;
    if (m.most == 0 || n.most == 0)
        return PATH_F16;  // P is 0
    const int m_most = exponent_of(m.most), n_most = exponent_of(n.most);
    const int m_least = exponent_of(m.least), n_least = exponent_of(n.least);
    // A sum of k products might overflow on its way.
    if (m_most + n_most + 2 + (32 - __clz(static_cast<int>(k))) > 126)
        return PATH_F32;
    // A small element loses up to 2^-50 of the largest of its line. That is no more than f32 would lose if every row of M meets
    // every column of N in so many places where both are large.
    const long long small = static_cast<long long>(m.small) + n.small;
    const long long both_large = static_cast<long long>(m.large) + n.large - k;
    if (small == 0 || small <= 32 * both_large)
        return PATH_F16;
    // Each element has all its bits in three planes of bf16, and no product of them is so small that sums lose it.
    if (m_most <= 126 && n_most <= 126 && m_least >= -110 && n_least >= -110 && m_least + n_least >= -112)
        return PATH_BF16;
    return PATH_F32;
}

// Launch: DECIDE_THREADS threads in a block, one block for each product.
extern "C" __global__ void __launch_bounds__(DECIDE_THREADS)
decide(
    const lines_t *lines,
    int *paths)
{
    const line_t none = {0, ~0u, 0, 0x7fffffff};
    const line_t *const m = lines->m[m_of(blockIdx.z)], *const n = lines->n[n_of(blockIdx.z)];
    line_t m_worst = none, n_worst = none;
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
    if (blockIdx.x > 0)
        return;
    for (long long line = threadIdx.x; line < j; line += DECIDE_THREADS)
        m_worst = worst_of(m_worst, m[line]);
    for (long long line = threadIdx.x; line < l; line += DECIDE_THREADS)
        n_worst = worst_of(n_worst, n[line]);
    m_worst = worst_of_block(m_worst);
    n_worst = worst_of_block(n_worst);
    if (threadIdx.x == 0)
        paths[blockIdx.z] = choose_path(m_worst, n_worst);
}
