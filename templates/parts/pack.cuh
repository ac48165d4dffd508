// pack: M and N, whose lines do not begin at multiples of 16 bytes, are copied to the workspace, where they do, and where all tiles
// are whole: what hangs over the edge is zero.
//@ if pack_rounds
//@| // Here each element is rounded to tf32 once, and not each time that a warp loads it.
//@ end
constexpr int PACK_THREADS = 256;

// `lines` of so many elements, ld apart, become lines_packed lines, ld_packed apart. What is added is zero.
template <typename element_t>
__device__ __forceinline__ void pack_lines(const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements)
{
    constexpr int WIDTH = 16 / sizeof(element_t);  // elements of one store
    const long long chunks = ld_packed / WIDTH;
#pragma unroll 1  // several turns at once would not fit the registers of every target
    for (long long i = blockIdx.x * PACK_THREADS + threadIdx.x; i < lines_packed * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * WIDTH;
        vector_t<element_t, WIDTH> value = {};
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
            if (line < lines && first + e < elements)
                //@ if pack_rounds
                //@| value.element[e] = __uint_as_float(round_to_tf32(__float_as_uint(from[line * ld + first + e])));
                //@ else
                value.element[e] = from[line * ld + first + e];
                //@ end
        const uint4 word = reinterpret_cast<const uint4 &>(value);
        // At once: left to itself, the compiler stores what it has loaded piece by piece.
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(&to[line * ld_packed + first]), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
                     : "memory");
    }
}

// Launch: PACK_THREADS threads in a block, any number of blocks in the grid.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack(  //@ pack for pack
    //@ if packs_m and packs_n
    const input_t *__restrict__ M,  //@ m_t for input_t
    const input_t *__restrict__ N,  //@ n_t for input_t
    input_t *M_packed,  //@ m_t for input_t
    input_t *N_packed)  //@ n_t for input_t
    //@ elif packs_m
    //@| const input_t *__restrict__ M,  //@ m_t for input_t
    //@| input_t *M_packed)  //@ m_t for input_t
    //@ else
    //@| const input_t *__restrict__ N,  //@ n_t for input_t
    //@| input_t *N_packed)  //@ n_t for input_t
    //@ end
{
    #include "parts/dependents.cuh"  //@ include
    //@ if packs_m
    constexpr long long from_ld_m = 300;  //@ from_ld_m
    constexpr long long m_lines = 512;  // of the packed M  //@ packed_lines_m
    //@ if shares_m
    //@| if (blockIdx.z == 0)  // the products share one M
    //@|     pack_lines(M, from_ld_m, M_packed, ld_m, m_lines, j, k);  //@ from_lines_m for j  //@ from_line_m for k
    //@ else
    constexpr long long from_stride_m = 0;  //@ from_stride_m
    pack_lines(M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (m_lines * ld_m), ld_m, m_lines, j, k);  //@ from_lines_m for j  //@ from_line_m for k
    //@ end
    //@ end
    //@ if packs_n
    constexpr long long from_ld_n = 700;  //@ from_ld_n
    constexpr long long n_lines = 320;  // of the packed N  //@ packed_lines_n
    //@ if shares_n
    //@| if (blockIdx.z == 0)  // the products share one N
    //@|     pack_lines(N, from_ld_n, N_packed, ld_n, n_lines, k, l);  //@ from_lines_n for k  //@ from_line_n for l
    //@ else
    constexpr long long from_stride_n = 0;  //@ from_stride_n
    pack_lines(N + blockIdx.z * from_stride_n, from_ld_n, N_packed + blockIdx.z * (n_lines * ld_n), ld_n, n_lines, k, l);  //@ from_lines_n for k  //@ from_line_n for l
    //@ end
    //@ end
}

