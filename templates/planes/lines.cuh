
// A line is a row of M or a column of N, and lies along k in the planes.
using plane_t = unsigned short;  // the bits of an f16 or of a bf16
constexpr int PATH_F16 = 1, PATH_BF16 = 2, PATH_F32 = 3;  // tj_path
constexpr int MOST_PLANES = 3;
constexpr int TOP = 14;  // the largest of a line becomes a number from 2^14 on, below 2^15
constexpr int LOW = 11;  // what is missing in the high plane is multiplied by 2^11: bits of an f16
constexpr long long K_LINE = 320;  // elements of a line
constexpr long long M_LINES = 512;
constexpr long long N_LINES = 768;
constexpr int M_PRODUCTS = 1;  // matrices of M: one where the products of a batch share it
constexpr int N_PRODUCTS = 1;

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

// A block walks LINES lines at a time, each thread a part of one of them: a chunk of neighbours along k, which are 16 bytes of a plane,
// and then every LINE_STEP elements another. Where a line lies along k in memory, so do the threads of a warp; where it lies across,
// threads side by side take LINES lines, and load neighbours too.
constexpr int LINE_THREADS = 512;
constexpr int LINE_BLOCKS = 2;
constexpr int LINES = 8;
constexpr int CHUNK = 8;
constexpr int LINE_STEP = LINE_THREADS / LINES * CHUNK;
using chunk_t = vector_t<input_t, CHUNK>;

template <bool ALONG_K>
__device__ __forceinline__ int line_of_thread()
{
    return ALONG_K ? threadIdx.x / 32 % LINES : threadIdx.x % LINES;
}

// use(k, the chunk from there on), for all of this thread's part of the line. VECTOR: elements that one instruction may load.
template <bool ALONG_K, int VECTOR, typename use_t>
__device__ __forceinline__ void walk_line(const input_t *from, long long ld, long long line, long long lines, use_t use)
{
    const int place = ALONG_K ? threadIdx.x / 32 / LINES * 32 + threadIdx.x % 32 : threadIdx.x / LINES;
    const auto load = [&](long long at_k) {
        chunk_t chunk;
#pragma unroll
        for (int i = 0; i < CHUNK; i += VECTOR) {
            const long long kk = at_k + i;
            vector_t<input_t, VECTOR> part = {};
            if (line < lines && kk < k)
                part = read<VECTOR>(&from[ALONG_K ? line * ld + kk : kk * ld + line]);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                chunk.element[i + e] = part.element[e];
        }
        return chunk;
    };
    long long at_k = place * CHUNK;
    chunk_t next = load(at_k);
#pragma unroll 1
    for (; at_k < K_LINE; at_k += LINE_STEP) {
        const chunk_t chunk = next;
        next = load(at_k + LINE_STEP);  // nothing, beyond the end
        use(at_k, chunk);
    }
}

// A chunk of one plane, as pairs of elements, in one piece.
__device__ __forceinline__ void store_chunk(plane_t *planes, long long lines, int plane, long long line, long long at_k, const unsigned int (&pairs)[CHUNK / 2])
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(&planes[(plane * lines + line) * K_LINE + at_k])),
                 "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3]) : "memory");
}
