#pragma unroll
for (int r = 0; r < TM; r += 2) {
    if (first + r > 0)
        multiply_part(r, first);
    wait_for_products<0>();
    if (first + PART == BK && r + 2 == TM && lane == 0)  //@ frees for lane == 0
        arrive(empty[stage]);  //@ free_place for arrive
    settle(part);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            sum[r + i][c] += part[i][c];  //@ scaled_part for part[i][c]
}
