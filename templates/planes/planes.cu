// FP32-accurate products on tensor cores. An element of M or N is written as a sum of narrower numbers, its planes, whose products
// tensor cores make; their sums are f32. The kernels of this text follow each other in the stream, and each may start before the one
// ahead has ended, for whose results it then waits:
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

#include "parts/card.cuh"
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 32;
constexpr int WM = 64;
constexpr int WN = 32;
constexpr int STAGES = 3;
constexpr int BLOCKS = 1;
constexpr int P_VECTOR = 1;  // elements that one instruction stores
constexpr int PLANES = 2;  // of f16
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);

#include "parts/vector.cuh"
#include "parts/async.cuh"
#include "parts/mma.cuh"
#include "parts/swizzle.cuh"
#include "planes/lines.cuh"
#include "planes/split.cuh"

#include "planes/decide.cuh"

// A block's tile of P: the kernels of both kinds of planes differ in their numbers alone.
template <int BM, int BN, int BK, int WM, int WN, int STAGES, int PLANES, int THREADS>
__device__ __forceinline__ void multiply_tile(
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    #include "planes/parameters.cuh"
{
    #include "planes/product.cuh"
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.  //@ only rows_on_y
//@| //         (ceil(j / BM), ceil(l / BN)) blocks in the grid.  //@ only not rows_on_y
//         blockIdx.z counts the products of the batch.  //@ only batched
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
planes(
    const int *paths,
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    #include "planes/parameters.cuh"
{
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
    if (paths[blockIdx.z] != PATH_F16)
        return;
    multiply_tile<BM, BN, BK, WM, WN, STAGES, PLANES, THREADS>(
        lines, M_planes, N_planes,
        //@ instead arguments
        alpha, beta, C, P);
        //@ end
}

#include "planes/widen.cuh"

// Launch: 128 threads in a block, blocks of 64 x 64 elements of P.
extern "C" __global__ void __launch_bounds__(128)
wide(
    const int *paths,
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    #include "planes/parameters.cuh"
{
    #include "parts/dependents.cuh"
    #include "parts/awaits.cuh"
    if (paths[blockIdx.z] != PATH_BF16)
        return;
    multiply_tile<64, 64, 32, 32, 32, 3, 3, 128>(
        lines, M_planes, N_planes,
        //@ instead arguments
        alpha, beta, C, P);
        //@ end
}

#include "planes/plain.cuh"
//@| #include "parts/combine.cuh"  //@ only reduces
