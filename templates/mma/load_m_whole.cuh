#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const int row = warp_row + 16 * r;
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
    load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);  //@ step_k for step * K_STEP
    #include "mma/round.cuh"  //@ m_round
}
