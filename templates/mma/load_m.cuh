#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const int row = warp_row + 16 * r;
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
    load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);  //@ only m_whole
    //@| load_transposed(fragment, &from.M[m_place(step * K_STEP + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8)]);  //@ only m_halves
    //@| load_bytes(fragment, &from.M[m_place(step * K_STEP + line_of_bytes(lane), row)]);  //@ only m_bytes
    //@ if m_elements
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int of_row = row + lane / 4 + i % 2 * 8, kk = step * K_STEP + lane % 4 + i / 2 * 4;
        fragment[i] = __float_as_uint(from.M[m_place(kk, of_row)]);
    }
    //@ end
    //@ if m_rounds
#pragma unroll
    for (int i = 0; i < 4; ++i)
        fragment[i] = round_to_tf32(fragment[i]);
    //@ end
}
