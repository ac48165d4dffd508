// FP32-accurate products on the tensor cores of Hopper. An element of M or N is written as a sum of narrower numbers, its planes, whose
// products tensor cores make; their sums are f32. The kernels of this text follow each other in the stream, and each may start before
// the one ahead has ended, for whose results it then waits:
//
//     split     finds the largest of each line (a row of M, a column of N), scales the line by a power of two, and writes its two
//               planes of f16; on its way it measures what would make them inexact
//     decide    chooses, for each product of the batch, which of the three kernels below multiplies; the others return at once
//     planes    three products of f16: low * high and high * low, then high * high
//     widen     writes three planes of bf16 in the place of those of f16
//     wide      six products of bf16, where elements of one line span too much for f16
//     plain     FP32 as IEEE has it: infinities, NaN, products that may overflow or be subnormal
//
// A line lies along k in whichever layout its matrix is. Lines and k are filled up with zeros to whole tiles.
//
// Of the warpgroups of a block that multiplies, 128 threads each, the first one brings the tiles of all planes, a phase of BK after
// the other, into a ring of STAGES; the MULTIPLIERS that follow multiply them, 64 rows of the block's tile of P each.

#include "parts/card.cuh"
constexpr int MULTIPLIERS = 2;
constexpr int BM = 64 * MULTIPLIERS;
constexpr int BN = 32;
constexpr int BK = 64;  // 128 bytes of elements of a plane
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int TM = 2;  // elements of a thread in a column of P
constexpr int TN = BN / 4;  // and in a row
constexpr int THREADS = 128 * (1 + MULTIPLIERS);
constexpr int BLOCKS = 1;
constexpr int GROUP = 8;
constexpr int P_VECTOR = 1;  // elements that one instruction stores

#include "parts/vector.cuh"
#include "parts/barrier.cuh"
#include "parts/tensor.cuh"
#include "parts/wgmma.cuh"
#include "wgmma_planes/wide.cuh"
#include "planes/lines.cuh"
#include "planes/split.cuh"

#include "planes/decide.cuh"

// All tiles of P of a block: the kernels of both kinds of planes differ in their numbers alone.
template <int PLANES, int STAGES>
__device__ __forceinline__ void multiply_tiles(
    const tensor_map_t &M_map,
    const tensor_map_t &N_map,
    const lines_t *lines,
    #include "planes/parameters.cuh"
{
    #include "wgmma_planes/product.cuh"
}

// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wgmma_planes(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    const int *paths,
    const lines_t *lines,
    #include "planes/parameters.cuh"
{
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
    if (paths[blockIdx.z] != PATH_F16)
        return;
    multiply_tiles<2, 3>(  //@ stages for 3
        M_map, N_map, lines,
        //@ instead arguments
        alpha, beta, C, P);
        //@ end
}

#include "planes/widen.cuh"

// Launch: as the one above.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wide(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    const int *paths,
    const lines_t *lines,
    #include "planes/parameters.cuh"
{
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
    if (paths[blockIdx.z] != PATH_BF16)
        return;
    multiply_tiles<3, 2>(  //@ wide_stages for 2
        M_map, N_map, lines,
        //@ instead arguments
        alpha, beta, C, P);
        //@ end
}

#include "planes/plain.cuh"
//@| #include "parts/combine.cuh"  //@ only reduces
