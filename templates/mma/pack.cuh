// pack: lines of M and N that do not begin at multiples of 16 bytes are copied to the workspace, where they do.
constexpr int PACK_THREADS = 256;

// `lines` of so many elements, ld apart; ld_packed is a multiple of CHUNK. What fills up a line is zero.
template <typename element_t>
__device__ __forceinline__ void pack_lines(const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines, long long elements)
{
    const long long chunks = ld_packed / CHUNK;
    for (long long i = blockIdx.x * PACK_THREADS + threadIdx.x; i < lines * chunks; i += gridDim.x * PACK_THREADS) {
        const long long line = i / chunks, first = i % chunks * CHUNK;
        vector_t<element_t, CHUNK> value = {};
#pragma unroll
        for (int e = 0; e < CHUNK; ++e)
            if (first + e < elements)
                value.element[e] = from[line * ld + first + e];
        reinterpret_cast<vector_t<element_t, CHUNK> &>(to[line * ld_packed + first]) = value;
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
    constexpr long long from_stride_m = 0;  //@ from_stride_m
    //@ if m_row_major
    pack_lines(M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (j * ld_m), ld_m, j, k);
    //@ else
    //@| pack_lines(M + blockIdx.z * from_stride_m, from_ld_m, M_packed + blockIdx.z * (k * ld_m), ld_m, k, j);
    //@ end
    //@ end
    //@ if packs_n
    constexpr long long from_ld_n = 700;  //@ from_ld_n
    constexpr long long from_stride_n = 0;  //@ from_stride_n
    //@ if n_row_major
    pack_lines(N + blockIdx.z * from_stride_n, from_ld_n, N_packed + blockIdx.z * (k * ld_n), ld_n, k, l);
    //@ else
    //@| pack_lines(N + blockIdx.z * from_stride_n, from_ld_n, N_packed + blockIdx.z * (l * ld_n), ld_n, l, k);
    //@ end
    //@ end
}

