#include "parts/walk.cuh"  //@ walk_phases

// add: the sums of the slices, in their order, through shared memory. The first slice ends alone.
sum_t *const slices = reinterpret_cast<sum_t *>(tiles) + warp * (TM * TN * 32) + lane;
constexpr int SLICE_SUMS = WARPS * TM * TN * 32;
__syncthreads();  // nobody needs the tiles any more
#pragma unroll
for (int i = 0; i < TM * TN; ++i)
    if (slice > 0)
        slices[(slice - 1) * SLICE_SUMS + i * 32] = sum[i / TN][i % TN];
__syncthreads();
if (slice > 0)
    return;
#pragma unroll
for (int i = 0; i < TM * TN; ++i)
#pragma unroll
    for (int other = 0; other < SLICES - 1; ++other)
        sum[i / TN][i % TN] += slices[other * SLICE_SUMS + i * 32];
