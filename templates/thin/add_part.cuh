// Its sums, times its scales, are added to those of all units.
#pragma unroll
for (int c = 0; c < TN / 16; ++c)
#pragma unroll
    for (int r = 0; r < TM / 8; ++r)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sum[c][r][i] += static_cast<float>(n_scale_next[place][2 * c + i / 2]) * part[c][r][i];
