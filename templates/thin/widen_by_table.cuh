unsigned int pairs[4];
widen_scaled(run.element[eight], factors[2 * c + half], less[2 * c + half], pairs);
#pragma unroll
for (int pair = 0; pair < 4; ++pair)
    n[pair / 2][pair % 2 * 2 + half] = pairs[pair];
