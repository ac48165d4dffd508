//@ if pack_transposes
//@| // pack: operands are copied to the workspace, where every line begins at a multiple of 16 bytes and lies along k, and what is added
//@| // to a line, or beyond the last one, is zero.
//@ else
// pack: operands are copied to the workspace, where every line begins at a multiple of 16 bytes, and where what is added to a line,
// or beyond the last one, is zero.
//@ end
//@ if pack_rounds
//@| // Here each element is rounded to tf32 once, and not each time that a warp loads it.
//@ end
constexpr int PACK_THREADS = 256;
constexpr int PACK_WIDTH = 16 / sizeof(input_t);  // elements of 16 bytes  //@ m_tile_t for input_t
//@ if pack_transposes
constexpr int PACK_EDGE = 128 / sizeof(input_t);  // of 128 bytes  //@ m_tile_t for input_t
//@ end

//@ if pack_chunks
//@ if pack_wide
// 16 bytes of a line from its element `first` on; zero, where they are not there. WIDE: all of them are, or none, and at once.
template <bool WIDE, typename element_t>
//@ else
//@| // 16 bytes of a line from its element `first` on; zero, where they are not there.
//@| template <typename element_t>
//@ end
__device__ __forceinline__ vector_t<element_t, PACK_WIDTH> load_chunk(const element_t *line, long long first, long long elements)
{
    vector_t<element_t, PACK_WIDTH> chunk = {};
    //@ if pack_wide
    if (WIDE && first < elements)
        chunk = read<PACK_WIDTH>(&line[first]);
    //@ end
#pragma unroll
    for (int e = 0; e < PACK_WIDTH; ++e)
        if (!WIDE && first + e < elements)  //@ pack_wide &&
            chunk.element[e] = line[first + e];
    //@ if pack_rounds
//@| #pragma unroll
    //@| for (int e = 0; e < PACK_WIDTH; ++e)
    //@|     chunk.element[e] = __uint_as_float(round_to_tf32(__float_as_uint(chunk.element[e])));
    //@ end
    return chunk;
}

//@ end
// At once: left to itself, the compiler stores what it has loaded piece by piece.
__device__ __forceinline__ void store_chunk(void *to, uint4 chunk)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w) : "memory");
}

//@ if pack_copies
// `lines` of so many elements, ld apart, become lines_packed lines, ld_packed apart. What is added is zero. block: the number of this
// one, where it matters that M and N, if both are packed, keep different blocks busy.
//@ if pack_widens
//@| // Weights become numbers of the type that they are multiplied by.
//@ end
//@ if pack_wide and not pack_widens
template <bool WIDE, typename element_t>
//@ elif pack_wide
//@| template <bool WIDE, typename element_t, typename packed_t>
//@ elif pack_widens
//@| template <typename element_t, typename packed_t>
//@ else
//@| template <typename element_t>
//@ end
//@ if pack_widens
//@| __device__ __forceinline__ void pack_lines(const element_t *from, long long ld, packed_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
//@ else
__device__ __forceinline__ void pack_lines(const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
//@ end
{
    const long long chunks = ld_packed / PACK_WIDTH;
#pragma unroll 1  // several turns at once would not fit the registers of every target
    for (long long i = block * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * PACK_WIDTH;
        vector_t<element_t, PACK_WIDTH> chunk = {};
        if (line < lines)
            chunk = load_chunk<WIDE>(&from[line * ld], first, elements);  //@ load_chunk for load_chunk<WIDE>
        //@ if pack_widens
        //@| if constexpr (sizeof(element_t) < sizeof(packed_t)) {
        //@|     const auto widened = widen<PACK_WIDTH>(reinterpret_cast<const vector_t<unsigned int, PACK_WIDTH / 4> &>(chunk));
        //@|     store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(widened));
        //@| } else {
        //@|     store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(chunk));
        //@| }
        //@ else
        store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(chunk));
        //@ end
    }
}

//@ end
//@ if pack_pairs
//@| // Eight weights of a line from number `first` on, two in a byte; zero, where they are not there. A half byte behind the line is not.
//@ if pack_wide
//@| template <bool WIDE>
//@ end
//@| __device__ __forceinline__ unsigned int load_pairs(const s4x2 *line, long long first, long long elements)
//@| {
//@|     unsigned int pairs = 0;
//@ if pack_wide
//@|     if (WIDE && first < elements)
//@|         pairs = *reinterpret_cast<const unsigned int *>(&line[first / 2]);
//@ end
//@| #pragma unroll
//@|     for (int e = 0; e < PACK_WIDTH; ++e)
//@|         if (!WIDE && first + e < elements)  //@ pack_wide &&
//@|             pairs |= (line[(first + e) / 2].bits >> e % 2 * 4 & 0xfu) << 4 * e;
//@|     return pairs;
//@| }

//@| // As pack_lines. Weights become numbers of the type that they are multiplied by.
//@ if pack_wide
//@| template <bool WIDE, typename packed_t>
//@ else
//@| template <typename packed_t>
//@ end
//@| __device__ __forceinline__ void pack_pairs(const s4x2 *from, long long ld, packed_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
//@| {
//@|     const long long chunks = ld_packed / PACK_WIDTH;
//@| #pragma unroll 1  // several turns at once would not fit the registers of every target
//@|     for (long long i = block * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
//@|         const long long line = i / chunks, first = i % chunks * PACK_WIDTH;
//@|         unsigned int pairs = 0;
//@|         if (line < lines)
//@|             pairs = load_pairs<WIDE>(&from[line * ld], first, elements);  //@ load_pairs for load_pairs<WIDE>
//@|         const auto widened = widen<PACK_WIDTH>(unpack(pairs));
//@|         store_chunk(&to[line * ld_packed + first], reinterpret_cast<const uint4 &>(widened));
//@|     }
//@| }

//@ end
//@ if pack_transposes
#include "parts/transpose.cuh"
//@ end
// Launch: PACK_THREADS threads in a block, any number of blocks in the grid.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack(
    //@ if packs_m and packs_n
    const input_t *__restrict__ M,  //@ m_from_t for input_t
    const input_t *__restrict__ N,  //@ n_from_t for input_t
    input_t *M_packed,  //@ m_tile_t for input_t
    input_t *N_packed)  //@ n_tile_t for input_t
    //@ elif packs_m
    //@| const input_t *__restrict__ M,  //@ m_from_t for input_t
    //@| input_t *M_packed)  //@ m_tile_t for input_t
    //@ else
    //@| const input_t *__restrict__ N,  //@ n_from_t for input_t
    //@| input_t *N_packed)  //@ n_tile_t for input_t
    //@ end
{
    #include "parts/dependents.cuh"
    //@ if pack_transposes
    __shared__ pack_tile_t tile;
    //@ end
    //@ if packs_m
    constexpr long long from_ld_m = 300;  //@ from_ld_m
    constexpr long long m_lines = 512;  // of the packed M  //@ packed_lines_m
    //@ if shares_m
    //@| if (blockIdx.z == 0)  // the products share one M
    //@|     pack_lines(tile, M, from_ld_m, M_packed, ld_m, m_lines, j, k, blockIdx.x);  //@ pack_m for pack_lines  //@ transposes_m,,,,,,,,  //@ from_lines_m for j  //@ from_line_m for k
    //@ else
    constexpr long long from_stride_m = 0;  //@ from_stride_m
    transpose_lines<true>(tile, M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (m_lines * ld_m), ld_m, m_lines, j, k, blockIdx.x);  //@ pack_m for transpose_lines<true>  //@ transposes_m,,,,,,,,  //@ from_lines_m for j  //@ from_line_m for k
    //@ end
    //@ end
    //@ if packs_n
    constexpr long long from_ld_n = 700;  //@ from_ld_n
    constexpr long long n_lines = 704;  // of the packed N  //@ packed_lines_n
    //@ if shares_n
    //@| if (blockIdx.z == 0)  // the products share one N
    //@|     pack_lines(tile, N, from_ld_n, N_packed, ld_n, n_lines, k, l, blockIdx.x);  //@ first_of_n for blockIdx.x  //@ pack_n for pack_lines  //@ transposes_n,,,,,,,,  //@ from_lines_n for k  //@ from_line_n for l
    //@ else
    constexpr long long from_stride_n = 0;  //@ from_stride_n
    transpose_lines<true>(tile, N + blockIdx.z * from_stride_n, from_ld_n, N_packed + blockIdx.z * (n_lines * ld_n), ld_n, n_lines, k, l, gridDim.x - 1 - blockIdx.x);  //@ first_of_n for gridDim.x - 1 - blockIdx.x  //@ pack_n for transpose_lines<true>  //@ transposes_n,,,,,,,,  //@ from_lines_n for k  //@ from_line_n for l
    //@ end
    //@ end
}

