const int unit = piece % UNITS, row = piece / UNITS * 2;
const auto multiply_by_powers = [&](bool in_steps) {
#pragma unroll
    for (int step = 0; step < 2; ++step)
#pragma unroll
        for (int r = row; r < row + 2; ++r)
#pragma unroll
            for (int far = 0; far < 4; far += 2) {
                const int p = (unit * UNIT + step * K_STEP) / SCALE_K;  //@ part_of_step for (unit * UNIT + step * K_STEP) / SCALE_K
                unsigned int &two = factors[piece % 2][step][r % 2 + far];
                two = in_steps ? multiply_in_steps(two, powers[p][r]) : multiply_both(two, powers[p][r]);
            }
};
if (has_larger)
    multiply_by_powers(true);
else
    multiply_by_powers(false);
