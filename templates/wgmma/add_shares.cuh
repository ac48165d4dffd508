wait(shared->gathers[warp], gathered);
gathered ^= 1;
#pragma unroll
for (int other = 0; other < CLUSTER - 1; ++other)  //@ sharers for CLUSTER
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; c += 2) {
            const auto pair = read<2>(shared->parts[other][warp][r * (TN / 2) + c / 2][lane]);
            sum[r][c] += pair.element[0];
            sum[r][c + 1] += pair.element[1];
        }
__syncwarp();
