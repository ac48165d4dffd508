#pragma unroll
for (int step = 0; step < 2; ++step) {  //@ unit_steps for 2
    const auto n_step = n + n_offset(unit * UNIT + step * K_STEP) / 16;
    //@ if adds_parts
    //@| sum_t (&upper)[TN] = part[row % PART_ROWS], (&lower)[TN] = part[row % PART_ROWS + 1];
    //@| multiply_add(factors[piece % 2][step], n_step, upper, lower, has_begun || step > 0);
    //@ else
    multiply_add(factors[piece % 2][step], n_step, sum[row], sum[row + 1], true);
    //@ end
}
