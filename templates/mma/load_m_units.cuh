#pragma unroll
for (int r = 0; r < WM / 16; ++r)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = warp_row + 16 * r + lane / 4 + i % 2 * 8, kk = step * K_STEP + i / 2 * 8 + lane % 4 * 2;  //@ step_k for step * K_STEP  //@ unit_first for 8 + lane % 4 * 2
        m[step % 2][r][i] = widen_unit(*reinterpret_cast<const unsigned short *>(&from.M[m_place(row, kk)]));  //@ m_now for m[step % 2]  //@ weights_unit for unsigned short  //@ unit_k for kk  //@ widen_a_unit for widen_unit
    }
