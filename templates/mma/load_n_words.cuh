#pragma unroll
for (int c = 0; c < WN / 8; ++c) {
    const int col = warp_col + 8 * c + lane / 4, kk = step * K_STEP + lane % 4 * 8;  //@ step_k for step * K_STEP
    const auto words = *reinterpret_cast<const vector_t<unsigned int, WORDS> *>(&from.N[n_place(col, kk)]);  //@ word_k for kk
    //@ lines n_zero
#pragma unroll
    for (int i = 0; i < 4; ++i)
        n[(step + i / 2) % 4][c][i % 2] = widen_neighbour(words.element[i / NEIGHBOURS], i % NEIGHBOURS);  //@ word_less for NEIGHBOURS)
}
