#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const int row = warp_row + 16 * r;
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
    load_bytes(fragment, &from.M[m_place(step * K_STEP + line_of_bytes(lane), row)]);  //@ step_k for step * K_STEP
}
