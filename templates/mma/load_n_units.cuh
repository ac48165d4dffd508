#pragma unroll
for (int c = 0; c < WN / 8; ++c)
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        const int col = warp_col + 8 * c + lane / 4, kk = step * K_STEP + chunk * 8 + lane % 4 * 2;  //@ step_k for step * K_STEP  //@ unit_first for 8 + lane % 4 * 2
        n[step % 2][c][chunk] = widen_unit(*reinterpret_cast<const unsigned short *>(&from.N[n_place(col, kk)]));  //@ n_now for n[step % 2]  //@ weights_unit for unsigned short  //@ unit_k for kk  //@ widen_a_unit for widen_unit
    }
