// The products of the lowest plane first: sums lose no more bits than those of the highest.
#pragma unroll
for (int plane = PLANES - 1; plane >= 0; --plane)
#pragma unroll
    for (int step = 0; step < 2; ++step)
        multiply_add(factors[piece % 2][plane][step], n + n_offset(unit * UNIT + step * K_STEP) / 16, part[row % PART_ROWS], part[row % PART_ROWS + 1], has_begun || plane < PLANES - 1 || step > 0);
