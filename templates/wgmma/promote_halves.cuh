#pragma unroll
for (int r = 0; r < TM; r += 2)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (first + r + half > 0)
            multiply_part(r, half, first);
        wait_for_products<0>();
        if (first + PART == BK && r + 2 == TM && half == 1 && lane == 0)  //@ frees for lane == 0
            arrive(empty[stage]);  //@ free_place for arrive
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int c = half * (TN / 2); c < (half + 1) * (TN / 2); ++c) {
                asm volatile("" : "+f"(part[i][c % (TN / 2)])::"memory");  // the products are there
                sum[r + i][c] += part[i][c % (TN / 2)];  //@ scaled_part for part[i][c % (TN / 2)]
            }
    }
