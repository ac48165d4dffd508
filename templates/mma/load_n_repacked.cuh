if (step % 2 == 0)  // a word has two steps
#pragma unroll
    for (int c = 0; c < WN / 8; ++c) {
        const int col = warp_col + 8 * c + lane / 4, kk = step * K_STEP + lane % 4 * 8;  //@ step_k for step * K_STEP
        const unsigned int word = *reinterpret_cast<const unsigned int *>(&from.N[n_place(col, kk / 2)]);
        //@ lines n_zero
#pragma unroll
        for (int i = 0; i < 4; ++i)
            n[(step + i / 2) % 4][c][i % 2] = widen_neighbour(word, i);  //@ unit_less for i)
    }
