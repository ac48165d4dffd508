// Each block of the cluster, or each slice of each, has summed a part of k. The first one adds up those of all, in their order: each lane of
// the others sends its sums to the lane that has the same ones there.
//@ lines share_of_k
if (rank > 0) {  //@ share for rank
    wait(shared->added[warp], gathered ^ 1);  // the last ones; what is new counts as added
    const unsigned to = address_in(0, shared->parts[rank - 1][warp][0][lane]), came = address_in(0, &shared->gathers[warp]);  //@ storer for warp  //@ storer for warp  //@ share for rank
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; c += 2)
            send_pair(to + (r * TN + c) * 32 * sizeof(sum_t), sum[r][c], sum[r][c + 1], came);
    gathered ^= 1;
    //@| wait_for_products<0>();  //@ only ahead
    continue;
}
if (lane == 0)
    arrive_and_expect(shared->gathers[warp], (CLUSTER - 1) * sizeof(shared->parts[0][0]));  //@ sharers for CLUSTER
#include "wgmma/add_shares.cuh"
if (lane > 0 && lane < CLUSTER)  //@ sharers for CLUSTER
    arrive_at(lane, shared->added[warp]);  //@ sender for warp  //@ sharer for lane
