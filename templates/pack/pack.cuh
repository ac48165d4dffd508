//@ if pack_transposes
// pack: operands are copied to the workspace, where every line begins at a multiple of 16 bytes and lies along k, and what is added
// to a line, or beyond the last one, is zero.
//@ else
// pack: operands are copied to the workspace, where every line begins at a multiple of 16 bytes, and where what is added to a line,
// or beyond the last one, is zero.
//@ end
// Here each element is rounded to tf32 once, and not each time that a warp loads it.  //@ only pack_rounds
constexpr int PACK_THREADS = 256;
constexpr int PACK_WIDTH = 16 / sizeof(input_t);  // elements of 16 bytes  //@ m_tile_t for input_t
constexpr int PACK_EDGE = 128 / sizeof(input_t);  // of 128 bytes  //@ m_tile_t for input_t  //@ only pack_transposes

#include "pack/load.cuh"  //@ load_chunks
// At once: left to itself, the compiler stores what it has loaded piece by piece.
__device__ __forceinline__ void store_chunk(void *to, uint4 chunk)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w) : "memory");
}

#include "pack/lines.cuh"  //@ pack_lines
//@| #include "pack/pairs.cuh"  //@ pack_pairs
#include "pack/transpose.cuh"  //@ only pack_transposes
// Launch: PACK_THREADS threads in a block, any number of blocks in the grid.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(PACK_THREADS)
pack(
    //@ instead pack_parameters
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    input_t *M_packed,
    input_t *N_packed)
    //@ end
{
    //@| #include "parts/awaits.cuh"  //@ first_awaits
    #include "parts/dependents.cuh"
    __shared__ pack_tile_t tile;  //@ only pack_transposes
    #include "pack/operand.cuh"  //@ packs_m
    #include "pack/operand.cuh"  //@ with n for m, N for M  //@ packs_n
}

