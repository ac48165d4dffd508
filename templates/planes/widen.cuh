__device__ __forceinline__ unsigned int to_bfloats(float first, float second)
{
    unsigned int pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

// 32 lines: what a plane cannot hold is left for the next, and after the third nothing is left.
template <bool ALONG_K>
__device__ __forceinline__ void widen_lines(tile_t &tile, const input_t *from, long long ld, long long first, long long lines, long long all_lines, plane_t *planes)
{
    const long long line = first + threadIdx.x / 32 * 2;
    walk_lines<ALONG_K>(tile, from, ld, first, lines, [&](int which, long long at_k, float x, float y) {
#pragma unroll
        for (int plane = 0; plane < MOST_PLANES; ++plane) {
            const unsigned int pair = to_bfloats(x, y);
            store_pair(planes, all_lines, plane, line + which, at_k, pair);
            x -= __uint_as_float(pair << 16);
            y -= __uint_as_float(pair & 0xffff0000);
        }
    });
}

// Launch: LINE_THREADS threads in a block, any number of blocks in the grid.
//@ if batched
//         blockIdx.z counts the products of the batch. Products that share a matrix write the same planes.
//@ end
extern "C" __global__ void __launch_bounds__(LINE_THREADS)
widen(  //@ widen for widen
    const int *paths,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    plane_t *M_planes,
    plane_t *N_planes)
{
    __shared__ tile_t tile;
    if (paths[blockIdx.z] != PATH_BF16)
        return;
    //@ if batched
    M += m_of(blockIdx.z) * stride_m;
    N += n_of(blockIdx.z) * stride_n;
    M_planes += m_of(blockIdx.z) * (MOST_PLANES * M_LINES * K_LINE);
    N_planes += n_of(blockIdx.z) * (MOST_PLANES * N_LINES * K_LINE);
    //@ end
#pragma unroll 1
    for (long long first = blockIdx.x * LINES; first < M_LINES + N_LINES; first += static_cast<long long>(gridDim.x) * LINES)
        if (first < M_LINES)
            widen_lines<true>(tile, M, ld_m, first, j, M_LINES, M_planes);  //@ m_along_k for true
        else
            widen_lines<false>(tile, N, ld_n, first - M_LINES, l, N_LINES, N_planes);  //@ n_along_k for false
}
