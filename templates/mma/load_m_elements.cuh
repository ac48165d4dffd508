#pragma unroll
for (int r = 0; r < WM / 16; ++r) {
    const int row = warp_row + 16 * r;
    fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int of_row = row + lane / 4 + i % 2 * 8, kk = step * K_STEP + lane % 4 + i / 2 * 4;  //@ step_k for step * K_STEP
        fragment[i] = __float_as_uint(from.M[m_place(kk, of_row)]);
    }
    #include "mma/round.cuh"  //@ m_round
}
