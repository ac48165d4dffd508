if (step % 2 == 0)  // a word has two steps
#pragma unroll
    for (int r = 0; r < WM / 16; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = warp_row + 16 * r + 8 * half + lane / 4, kk = step * K_STEP + lane % 4 * 8;  //@ step_k for step * K_STEP
            const unsigned int word = *reinterpret_cast<const unsigned int *>(&from.M[m_place(row, kk / 2)]);
            //@ lines m_zero
#pragma unroll
            for (int i = 0; i < 4; ++i)
                m[(step + i / 2) % 4][r][half + i % 2 * 2] = widen_neighbour(word, i);  //@ unit_less for i)
        }
