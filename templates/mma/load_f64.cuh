// This lane's first elements, counted from the first tile of all: the others lie whole lines and groups of 16 further, or in other
// groups of 4 or 8 of the 16, whose numbers the swizzle changes bit by bit. Only two places stay in registers from phase to phase.
const input_t *const all = tiles->M;
const int m_at = static_cast<int>(from.M - all) + m_place(warp_row + lane / 4, lane % 4);  //@ only m_along_k
//@| const int m_at = static_cast<int>(from.M - all) + m_place(lane % 4, warp_row + lane / 4);  //@ only not m_along_k
const int n_at = static_cast<int>(from.N - all) + n_place(lane % 4, warp_col + lane / 4);  //@ only not n_along_k
//@| const int n_at = static_cast<int>(from.N - all) + n_place(warp_col + lane / 4, lane % 4);  //@ only n_along_k
#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
#pragma unroll
    for (int i = 0; i < 4; ++i)
        fragment[i] = all[(16 * r + i % 2 * 8) * M_LINE + step / 2 * 16 + (m_at ^ step % 2 * 8 + i / 2 * 4)];  //@ two_steps for step / 2  //@ only m_along_k
        //@| fragment[i] = all[(step * K_STEP + i / 2 * 4) * M_LINE + 16 * r + (m_at ^ i % 2 * 8)];  //@ step_k for step * K_STEP  //@ only not m_along_k
}
#pragma unroll
for (int c = 0; c < WN / 8; c += 2) {
    fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
#pragma unroll
    for (int i = 0; i < 4; ++i)
        fragment[i] = all[(step * K_STEP + i % 2 * 4) * N_LINE + 8 * c + (n_at ^ i / 2 * 8)];  //@ step_k for step * K_STEP  //@ only not n_along_k
        //@| fragment[i] = all[(8 * c + i / 2 * 8) * N_LINE + step / 2 * 16 + (n_at ^ step % 2 * 8 + i % 2 * 4)];  //@ two_steps for step / 2  //@ only n_along_k
#pragma unroll
    for (int i = 0; i < 4; ++i)
        n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]
}
