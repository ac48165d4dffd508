__device__ __forceinline__ unsigned int to_bfloats(float first, float second)
{
    unsigned int pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

// LINES lines: what a plane cannot hold is left for the next, and after the third nothing is left.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void widen_lines(const input_t *from, long long ld, long long first, long long lines, long long all_lines, plane_t *planes)
{
    const long long line = first + line_of_thread<ALONG_K>();
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long at_k, chunk_t chunk) {
#pragma unroll
        for (int plane = 0; plane < MOST_PLANES; ++plane) {
            unsigned int pairs[CHUNK / 2];
#pragma unroll
            for (int i = 0; i < CHUNK; i += 2) {
                const unsigned int pair = to_bfloats(chunk.element[i], chunk.element[i + 1]);
                pairs[i / 2] = pair;
                chunk.element[i] -= __uint_as_float(pair << 16);
                chunk.element[i + 1] -= __uint_as_float(pair & 0xffff0000);
            }
            store_chunk(planes, all_lines, plane, line, at_k, pairs);
        }
    });
}

// Launch: as split.
//         blockIdx.z counts the products of the batch. Products that share a matrix write the same planes.  //@ only batched
extern "C" __global__ void __launch_bounds__(LINE_THREADS, LINE_BLOCKS)
widen(
    const int *paths,
    //@ instead operands
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    //@ end
    plane_t *M_planes,
    plane_t *N_planes)
{
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
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
            widen_lines<true, 1>(M, ld_m, first, j, M_LINES, M_planes);  //@ m_along_k for true  //@ m_vector for 1
        else
            widen_lines<false, 1>(N, ld_n, first - M_LINES, l, N_LINES, N_planes);  //@ n_along_k for false  //@ n_vector for 1
}
