// The tensor cores sum up the products of a part, and threads add that times the scale to their sums.  //@ times_scale for that times the scale
sum_t part[TM][TN];
const auto add_part = [&](const float (&scale)[TM]) {  //@ part_scale for const float (&scale)[TM]
    settle(part);
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            sum[r][c] += scale[r] * part[r][c];  //@ part_of_sum for scale[r] * part[r][c]
};
