#pragma unroll
for (int c = 0; c < WN / 8; c += 2) {
    const int col = warp_col + 8 * c;
    fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
    load_transposed(fragment, &from.N[n_place(step * K_STEP + lane % 16, col + lane / 16 * 8)]);  //@ step_k for step * K_STEP
#pragma unroll
    for (int i = 0; i < 4; ++i)
        n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]
}
