#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const int row = warp_row + 16 * r;
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
    load_transposed(fragment, &from.M[m_place(step * K_STEP + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8)]);  //@ step_k for step * K_STEP
}
