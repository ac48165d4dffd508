
__device__ __forceinline__ unsigned int to_halves(float first, float second)
{
    unsigned int pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

__device__ __forceinline__ float from_half(unsigned int bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
    return value;
}

// LINES lines: the first walk finds their largest elements, the second writes the planes.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void split_lines(line_t (&found)[LINES], const input_t *from, long long ld, long long first, long long lines, long long all_lines, int *exponents, line_t *facts, plane_t *planes)
{
    constexpr int APART = ALONG_K ? 1 : LINES;  // lanes that have parts of the same line
    const bool speaks = threadIdx.x % 32 < APART;  // for these lanes
    const int which = line_of_thread<ALONG_K>();
    const long long line = first + which;
    if (threadIdx.x < LINES)
        found[threadIdx.x] = {0, ~0u, 0, 0};
    __syncthreads();

    unsigned int most = 0;
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long, const chunk_t &chunk) {
#pragma unroll
        for (int i = 0; i < CHUNK; ++i)
            most = max(most, __float_as_uint(fabsf(chunk.element[i])));
    });
#pragma unroll
    for (int other = 16; other >= APART; other /= 2)
        most = max(most, __shfl_xor_sync(~0u, most, other));
    if (speaks)
        atomicMax(&found[which].most, most);
    __syncthreads();
    most = found[which].most;
    // Of a line with infinities or NaN it does not matter: plain will multiply.
    const int exponent = most == 0 ? 0 : min(exponent_of(most), 127) - TOP;

    unsigned int least = ~0u;
    int small = 0, large = 0;
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long at_k, const chunk_t &chunk) {
        unsigned int high[CHUNK / 2], low[CHUNK / 2];
#pragma unroll
        for (int i = 0; i < CHUNK; i += 2) {
            const float scaled[2] = {scale_by(chunk.element[i], -exponent), scale_by(chunk.element[i + 1], -exponent)};
            const unsigned int pair = to_halves(scaled[0], scaled[1]);
            high[i / 2] = pair;
            // Exact, and of at most 13 bits; f16 has 11 of them, whatever the exponent, because it is multiplied.
            low[i / 2] = to_halves((scaled[0] - from_half(pair & 0xffff)) * (1 << LOW), (scaled[1] - from_half(pair >> 16)) * (1 << LOW));
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float size = fabsf(scaled[e]);
                const unsigned int bits = __float_as_uint(fabsf(chunk.element[i + e]));
                if (bits != 0) {
                    least = min(least, bits);
                    small += size < 1.0f / (1 << (2 * LOW + 5 - TOP));  // 2^-27 of the largest
                }
                large += size >= 1 << (TOP - 12);
            }
        }
        store_chunk(planes, all_lines, 0, line, at_k, high);
        store_chunk(planes, all_lines, 1, line, at_k, low);
    });
#pragma unroll
    for (int other = 16; other >= APART; other /= 2) {
        least = min(least, __shfl_xor_sync(~0u, least, other));
        small += __shfl_xor_sync(~0u, small, other);
        large += __shfl_xor_sync(~0u, large, other);
    }
    if (speaks) {
        atomicMin(&found[which].least, least);
        atomicAdd(&found[which].small, small);
        atomicAdd(&found[which].large, large);
    }
    __syncthreads();
    if (threadIdx.x / 32 < (ALONG_K ? LINES : 1) && speaks) {
        line_t known = found[which];
        if (known.most == 0)
            known.large = k;  // nothing of it can be lost
        exponents[line] = exponent;
        facts[line] = known;
    }
    __syncthreads();  // before found is made anew
}

// Launch: LINE_THREADS threads in a block, and as many blocks as multiprocessors hold, so that the second walk finds in the L2 what the
//         first one has read.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(LINE_THREADS, LINE_BLOCKS)
split(
    //@ instead operands
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    //@ end
    lines_t *lines,
    plane_t *M_planes,
    plane_t *N_planes)
{
    __shared__ line_t found[LINES];
    //@| #include "parts/awaits.cuh"  //@ first_awaits
    #include "parts/dependents.cuh"
    const int m = m_of(blockIdx.z), n = n_of(blockIdx.z);
    //@ if batched
    M += m * stride_m;
    N += n * stride_n;
    M_planes += m * (MOST_PLANES * M_LINES * K_LINE);
    N_planes += n * (MOST_PLANES * N_LINES * K_LINE);
    //@ end
#pragma unroll 1
    for (long long first = blockIdx.x * LINES; first < M_LINES + N_LINES; first += static_cast<long long>(gridDim.x) * LINES)
        if (first < M_LINES) {
            if (M_PRODUCTS > 1 || blockIdx.z == 0)
                split_lines<true, 1>(found, M, ld_m, first, j, M_LINES, lines->m_exponent[m], lines->m[m], M_planes);  //@ m_along_k for true  //@ m_vector for 1
        } else if (N_PRODUCTS > 1 || blockIdx.z == 0) {
            split_lines<false, 1>(found, N, ld_n, first - M_LINES, l, N_LINES, lines->n_exponent[n], lines->n[n], N_planes);  //@ n_along_k for false  //@ n_vector for 1
        }
}
