// Each slice has summed a part of k. The first one adds up those of all, in their order: each lane of the others leaves its sums to the lane
// that has the same ones there.
if (slice > 0) {
    wait(shared->added[warp], gathered ^ 1);  // the last ones; what is new counts as added
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; c += 2) {
            const vector_t<sum_t, 2> pair = {sum[r][c], sum[r][c + 1]};
            reinterpret_cast<vector_t<sum_t, 2> &>(shared->parts[slice - 1][storer][r * (TN / 2) + c / 2][lane]) = pair;
        }
    __syncwarp();
    if (lane == 0)
        arrive(shared->gathers[storer]);
    gathered ^= 1;
    continue;
}
#include "wgmma/add_shares.cuh"
if (lane > 0 && lane < SLICES)
    arrive(shared->added[warp + lane * STORERS]);
