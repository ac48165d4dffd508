wait_for_products<0>();
settle(part);
#pragma unroll
for (int r = row; r < row + 2; ++r)
#pragma unroll
    for (int c = 0; c < TN; ++c)
        sum[r][c] += static_cast<float>(scale[unit * UNIT / SCALE_K][r]) * part[r % PART_ROWS][c];  //@ part_of_sum for static_cast<float>(scale[unit * UNIT / SCALE_K][r]) * part
//@ lines load_next_scale
