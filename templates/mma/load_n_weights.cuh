#pragma unroll
for (int c = 0; c < WN / 8; c += NEIGHBOURS) {
    fragment_t units[2];
    load_weights(units, &from.N[n_place(step * K_STEP + lane % 16, (warp_col + 8 * c) / (NEIGHBOURS / 2))]);  //@ step_k for step * K_STEP
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; ++i) {
        //@ lines n_zero
#pragma unroll
        for (int chunk = 0; chunk < 2; ++chunk)
            n[step % 2][c + i][chunk] = widen_neighbour(units[chunk], i);  //@ n_now for n[step % 2]  //@ unit_less for i)
    }
}
