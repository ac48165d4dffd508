#include "wgmma/in_box.cuh"
__device__ __forceinline__ void meet_in_warpgroup(int warpgroup)
{
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup) : "memory");
}

// A warp lays 16 x 16 finished elements in a box, as four matrices of 8 x 8, of which a lane has two neighbours in a row each. `to` is where
// the lane's own line begins: line lane % 8 of matrix lane / 8.
template <int PAIRS>
__device__ __forceinline__ void lay_lines(output_t *to, const unsigned (&pairs)[2][PAIRS], int first)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(to)), "r"(pairs[0][first]), "r"(pairs[1][first]), "r"(pairs[0][first + 1]), "r"(pairs[1][first + 1])
                 : "memory");
}

// The same, turned around: columns become lines.
template <int PAIRS>
__device__ __forceinline__ void lay_turned(output_t *to, const unsigned (&pairs)[2][PAIRS], int first)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(to)), "r"(pairs[0][first]), "r"(pairs[1][first]), "r"(pairs[0][first + 1]), "r"(pairs[1][first + 1])
                 : "memory");
}

