#pragma unroll
for (int pair = 0; pair < 4; ++pair)
    n[pair / 2][pair % 2 * 2 + half] = widen_neighbour(run.element[pair], eight);  //@ word_less for eight)
