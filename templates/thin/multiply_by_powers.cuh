const auto multiply_by_powers = [&](bool in_steps) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        unsigned int &two = n[i / 4][i % 4];
        two = in_steps ? multiply_in_steps(two, powers[2 * c + i % 2]) : multiply_both(two, powers[2 * c + i % 2]);
    }
};
if (has_larger)
    multiply_by_powers(true);
else
    multiply_by_powers(false);
