#pragma unroll
for (int c = 0; c < WN / 8; c += 2) {
    const int col = warp_col + 8 * c;
    fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
    //@| load_matrices(fragment, &from.N[n_place(col + lane / 16 * 8 + lane % 8, step * K_STEP + lane / 8 % 2 * CHUNK)]);  //@ only n_whole
    load_transposed(fragment, &from.N[n_place(step * K_STEP + lane % 16, col + lane / 16 * 8)]);  //@ only n_halves
    //@ if n_bytes
    fragment_t pairs[4];
    load_bytes(pairs, &from.N[n_place(step * K_STEP + line_of_bytes(lane), col)]);
    fragment[0] = pairs[0], fragment[1] = pairs[2], fragment[2] = pairs[1], fragment[3] = pairs[3];
    //@ end
    //@ if n_elements
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int of_col = col + lane / 4 + i / 2 * 8, kk = step * K_STEP + lane % 4 + i % 2 * 4;
        fragment[i] = __float_as_uint(from.N[n_place(kk, of_col)]);
    }
    //@ end
#pragma unroll
    for (int i = 0; i < 4; ++i)
        //@| n[step % 2][c + i / 2][i % 2] = round_to_tf32(fragment[i]);  //@ n_now for n[step % 2]  //@ only n_rounds
        n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]  //@ only not n_rounds
}
