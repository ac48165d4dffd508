
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

// 32 lines: the first walk finds their largest elements, the second writes the planes.
template <bool ALONG_K>
__device__ __forceinline__ void split_lines(tile_t &tile, const input_t *from, long long ld, long long first, long long lines, long long all_lines, int *exponents, line_t *facts, plane_t *planes)
{
    const int lane = threadIdx.x % 32;
    const long long line = first + threadIdx.x / 32 * 2;
    line_t found[2] = {{0, ~0u, 0, 0}, {0, ~0u, 0, 0}};
    int exponent[2];

    walk_lines<ALONG_K>(tile, from, ld, first, lines, [&](int which, long long, float x, float y) {
        found[which].most = max(found[which].most, max(__float_as_uint(fabsf(x)), __float_as_uint(fabsf(y))));
    });
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
        for (int other = 16; other > 0; other /= 2)
            found[which].most = max(found[which].most, __shfl_xor_sync(~0u, found[which].most, other));
        // Of a line with infinities or NaN it does not matter: plain will multiply.
        exponent[which] = found[which].most == 0 ? 0 : min(exponent_of(found[which].most), 127) - TOP;
    }

    walk_lines<ALONG_K>(tile, from, ld, first, lines, [&](int which, long long at_k, float x, float y) {
        const float scaled[2] = {scale_by(x, -exponent[which]), scale_by(y, -exponent[which])};
        const unsigned int high = to_halves(scaled[0], scaled[1]);
        // Exact, and of at most 13 bits; f16 has 11 of them, whatever the exponent, because it is multiplied.
        const unsigned int low = to_halves((scaled[0] - from_half(high & 0xffff)) * (1 << LOW), (scaled[1] - from_half(high >> 16)) * (1 << LOW));
        store_pair(planes, all_lines, 0, line + which, at_k, high);
        store_pair(planes, all_lines, 1, line + which, at_k, low);
        const float element[2] = {x, y};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float size = fabsf(scaled[i]);
            if (element[i] != 0) {
                found[which].least = min(found[which].least, __float_as_uint(fabsf(element[i])));
                found[which].small += size < 1.0f / (1 << (2 * LOW + 5 - TOP));  // 2^-27 of the largest
            }
            found[which].large += size >= 1 << (TOP - 12);
        }
    });
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
        for (int other = 16; other > 0; other /= 2) {
            found[which].least = min(found[which].least, __shfl_xor_sync(~0u, found[which].least, other));
            found[which].small += __shfl_xor_sync(~0u, found[which].small, other);
            found[which].large += __shfl_xor_sync(~0u, found[which].large, other);
        }
        if (found[which].most == 0)
            found[which].large = k;  // nothing of it can be lost
        if (lane == 0) {
            exponents[line + which] = exponent[which];
            facts[line + which] = found[which];
        }
    }
}

// Launch: LINE_THREADS threads in a block, any number of blocks in the grid.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(LINE_THREADS)
split(  //@ split for split
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    lines_t *lines,
    plane_t *M_planes,
    plane_t *N_planes)
{
    __shared__ tile_t tile;
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
                split_lines<true>(tile, M, ld_m, first, j, M_LINES, lines->m_exponent[m], lines->m[m], M_planes);  //@ m_along_k for true
        } else if (N_PRODUCTS > 1 || blockIdx.z == 0) {
            split_lines<false>(tile, N, ld_n, first - M_LINES, l, N_LINES, lines->n_exponent[n], lines->n[n], N_planes);  //@ n_along_k for false
        }
}
