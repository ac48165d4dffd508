
// A line is a row of M or a column of N, and lies along k in the planes.
using plane_t = unsigned short;  // the bits of an f16 or of a bf16
constexpr int PATH_F16 = 1, PATH_BF16 = 2, PATH_F32 = 3;  // tj_path
constexpr int MOST_PLANES = 3;
constexpr int TOP = 14;  // the largest of a line becomes a number from 2^14 on, below 2^15
constexpr int LOW = 11;  // what is missing in the high plane is multiplied by 2^11: bits of an f16
constexpr long long K_LINE = 320;  // elements of a line  //@ k_line
constexpr long long M_LINES = 512;  //@ m_lines
constexpr long long N_LINES = 768;  //@ n_lines
constexpr int M_PRODUCTS = 1;  // matrices of M: one where the products of a batch share it  //@ m_products
constexpr int N_PRODUCTS = 1;  //@ n_products

// What is known of a line.
struct __align__(16) line_t {
    unsigned int most, least;  // bits of the largest absolute value, and of the smallest that is not 0
    int small, large;          // elements whose planes of f16 miss some of their bits; elements not far below the largest
};

// Of all lines, in the workspace: the exponents that their sums are multiplied by, and what decide looks at.
struct lines_t {
    int m_exponent[M_PRODUCTS][M_LINES];
    int n_exponent[N_PRODUCTS][N_LINES];
    line_t m[M_PRODUCTS][M_LINES];
    line_t n[N_PRODUCTS][N_LINES];
};

// Which M and N of the batch a product reads.
__device__ __forceinline__ int m_of(int product)
{
    return M_PRODUCTS > 1 ? product : 0;
}

__device__ __forceinline__ int n_of(int product)
{
    return N_PRODUCTS > 1 ? product : 0;
}

// 2^exponent, of a number that is not subnormal.
__device__ __forceinline__ float power_of_2(int exponent)
{
    return __int_as_float((exponent + 127) << 23);
}

// value * 2^exponent, rounded once: in two steps, both up or both down, because one might be beyond the range of f32.
__device__ __forceinline__ float scale_by(float value, int exponent)
{
    const int within = max(-252, min(254, exponent)), half = within >> 1;
    return value * power_of_2(half) * power_of_2(within - half);
}

// The exponent of the highest bit of a number that is not 0, subnormal ones included.
__device__ __forceinline__ int exponent_of(unsigned int bits)
{
    return bits >> 23 ? static_cast<int>(bits >> 23) - 127 : -118 - __clz(bits);
}

// 16 warps walk 32 lines, 128 elements of each at a time: whichever way these lie in memory, threads side by side load neighbours,
// and then each warp has two lines to itself.
constexpr int LINE_THREADS = 512;
constexpr int LINES = 32;
constexpr int LINE_STEP = 128;
using tile_t = input_t[LINE_STEP][LINES + 1];

// use(which of the warp's two lines, k, two elements from there on), for all of K_LINE.
template <bool ALONG_K, typename use_t>
__device__ __forceinline__ void walk_lines(tile_t &tile, const input_t *from, long long ld, long long first, long long lines, use_t use)
{
    constexpr int EACH = LINE_STEP * LINES / LINE_THREADS;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto line_of = [&](int i) { return ALONG_K ? 2 * warp + i / 4 : lane; };
    const auto k_of = [&](int i) { return ALONG_K ? lane + i % 4 * 32 : warp * EACH + i; };
    input_t next[EACH];
    const auto load = [&](long long from_k) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const long long line = first + line_of(i), kk = from_k + k_of(i);
            next[i] = line < lines && kk < k ? from[ALONG_K ? line * ld + kk : kk * ld + line] : 0;
        }
    };

    load(0);
#pragma unroll 1
    for (long long from_k = 0; from_k < K_LINE; from_k += LINE_STEP) {
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            tile[k_of(i)][line_of(i)] = next[i];
        __syncthreads();
        if (from_k + LINE_STEP < K_LINE)
            load(from_k + LINE_STEP);
#pragma unroll
        for (int pair = 0; pair < LINE_STEP; pair += 64)
            if (from_k + pair < K_LINE) {
                const int kk = pair + 2 * lane;
#pragma unroll
                for (int line = 0; line < 2; ++line)
                    use(line, from_k + kk, tile[kk][2 * warp + line], tile[kk + 1][2 * warp + line]);
            }
        __syncthreads();
    }
}

// Two neighbours of one plane, as one word.
__device__ __forceinline__ void store_pair(plane_t *planes, long long lines, int plane, long long line, long long at_k, unsigned int pair)
{
    reinterpret_cast<unsigned int &>(planes[(plane * lines + line) * K_LINE + at_k]) = pair;
}
