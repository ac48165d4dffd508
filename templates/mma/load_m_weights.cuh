#pragma unroll
for (int r = 0; r < WM / 16; r += NEIGHBOURS / 2) {
    fragment_t units[2];
    load_weights(units, &from.M[m_place(step * K_STEP + lane % 16, (warp_row + 16 * r) / (NEIGHBOURS / 2))]);  //@ step_k for step * K_STEP
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; ++i) {
        //@ lines m_zero
#pragma unroll
        for (int chunk = 0; chunk < 2; ++chunk)
            m[step % 2][r + i / 2][i % 2 + 2 * chunk] = widen_neighbour(units[chunk], i);  //@ m_now for m[step % 2]  //@ unit_less for i)
    }
}
