#pragma unroll
for (int c = 0; c < WN / 8; c += 2) {
    const int col = warp_col + 8 * c;
    fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
    fragment_t pairs[4];
    load_bytes(pairs, &from.N[n_place(step * K_STEP + line_of_bytes(lane), col)]);  //@ step_k for step * K_STEP
    fragment[0] = pairs[0], fragment[1] = pairs[2], fragment[2] = pairs[1], fragment[3] = pairs[3];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]
}
