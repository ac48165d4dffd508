// load: the fragments of one step, for the rows and columns of this warp.
fragment_t m[2][WM / 16][4], n[2][WN / 8][2];  //@ only loads_ahead
//@| fragment_t m[WM / 16][4], n[WN / 8][2];  //@ only not loads_ahead
const auto load = [&](const phase_t &from, int step) {
    //@ if mma_f64
    //@| // This lane's first elements, counted from the first tile of all: the others lie whole lines and groups of 16 further, or in other
    //@| // groups of 4 or 8 of the 16, whose numbers the swizzle changes bit by bit. Only two places stay in registers from phase to phase.
    //@| const input_t *const all = tiles->M;
    //@| const int m_at = static_cast<int>(from.M - all) + m_place(warp_row + lane / 4, lane % 4);  //@ only m_row_major
    //@| const int m_at = static_cast<int>(from.M - all) + m_place(lane % 4, warp_row + lane / 4);  //@ only not m_row_major
    //@| const int n_at = static_cast<int>(from.N - all) + n_place(lane % 4, warp_col + lane / 4);  //@ only n_row_major
    //@| const int n_at = static_cast<int>(from.N - all) + n_place(warp_col + lane / 4, lane % 4);  //@ only not n_row_major
    //@ end
    //@ if m_units
//@| #pragma unroll
    //@| for (int r = 0; r < WM / 16; ++r)
//@| #pragma unroll
    //@|     for (int i = 0; i < 4; ++i) {
    //@|         const int row = warp_row + 16 * r + lane / 4 + i % 2 * 8, kk = step * K_STEP + i / 2 * 8 + lane % 4 * 2;
    //@|         m[step % 2][r][i] = widen_unit(*reinterpret_cast<const unsigned short *>(&from.M[m_place(row, kk)]));  //@ m_now for m[step % 2]  //@ weights_unit for unsigned short  //@ unit_k for kk
    //@|     }
    //@ elif m_stored
//@| #pragma unroll
    //@| for (int r = 0; r < WM / 16; r += NEIGHBOURS / 2) {
    //@|     fragment_t units[2];
    //@|     load_weights(units, &from.M[m_place(step * K_STEP + lane % 16, (warp_row + 16 * r) / (NEIGHBOURS / 2))]);
//@| #pragma unroll
    //@|     for (int i = 0; i < NEIGHBOURS; ++i)
//@| #pragma unroll
    //@|         for (int chunk = 0; chunk < 2; ++chunk)
    //@|             m[step % 2][r + i / 2][i % 2 + 2 * chunk] = widen_neighbour(units[chunk], i);  //@ m_now for m[step % 2]
    //@| }
    //@ else
#pragma unroll
    for (int r = 0; r < WM / 16; ++r) {
        const int row = warp_row + 16 * r;  //@ only not mma_f64
        fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
        //@ if m_whole
        load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);
        //@ elif m_halves
        //@| load_transposed(fragment, &from.M[m_place(step * K_STEP + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8)]);
        //@ elif m_bytes
        //@| load_bytes(fragment, &from.M[m_place(step * K_STEP + line_of_bytes(lane), row)]);
        //@ elif mma_f64
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i)
        //@|     fragment[i] = all[(16 * r + i % 2 * 8) * M_LINE + step / 2 * 16 + (m_at ^ step % 2 * 8 + i / 2 * 4)];  //@ only m_row_major
        //@|     fragment[i] = all[(step * K_STEP + i / 2 * 4) * M_LINE + 16 * r + (m_at ^ i % 2 * 8)];  //@ only not m_row_major
        //@ else
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i) {
        //@|     const int of_row = row + lane / 4 + i % 2 * 8, kk = step * K_STEP + lane % 4 + i / 2 * 4;
        //@|     fragment[i] = __float_as_uint(from.M[m_place(of_row, kk)]);  //@ only m_row_major
        //@|     fragment[i] = __float_as_uint(from.M[m_place(kk, of_row)]);  //@ only not m_row_major
        //@| }
        //@ end
        //@ if m_rounds
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i)
        //@|     fragment[i] = round_to_tf32(fragment[i]);
        //@ end
    }
    //@ end
    //@ if n_units
//@| #pragma unroll
    //@| for (int c = 0; c < WN / 8; ++c)
//@| #pragma unroll
    //@|     for (int chunk = 0; chunk < 2; ++chunk) {
    //@|         const int col = warp_col + 8 * c + lane / 4, kk = step * K_STEP + chunk * 8 + lane % 4 * 2;
    //@|         n[step % 2][c][chunk] = widen_unit(*reinterpret_cast<const unsigned short *>(&from.N[n_place(col, kk)]));  //@ n_now for n[step % 2]  //@ weights_unit for unsigned short  //@ unit_k for kk
    //@|     }
    //@ elif n_stored
//@| #pragma unroll
    //@| for (int c = 0; c < WN / 8; c += NEIGHBOURS) {
    //@|     fragment_t units[2];
    //@|     load_weights(units, &from.N[n_place(step * K_STEP + lane % 16, (warp_col + 8 * c) / (NEIGHBOURS / 2))]);
//@| #pragma unroll
    //@|     for (int i = 0; i < NEIGHBOURS; ++i)
//@| #pragma unroll
    //@|         for (int chunk = 0; chunk < 2; ++chunk)
    //@|             n[step % 2][c + i][chunk] = widen_neighbour(units[chunk], i);  //@ n_now for n[step % 2]
    //@| }
    //@ else
#pragma unroll
    for (int c = 0; c < WN / 8; c += 2) {
        const int col = warp_col + 8 * c;  //@ only not mma_f64
        fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
        //@ if n_whole
        //@| load_matrices(fragment, &from.N[n_place(col + lane / 16 * 8 + lane % 8, step * K_STEP + lane / 8 % 2 * CHUNK)]);
        //@ elif n_halves
        load_transposed(fragment, &from.N[n_place(step * K_STEP + lane % 16, col + lane / 16 * 8)]);
        //@ elif n_bytes
        //@| fragment_t pairs[4];
        //@| load_bytes(pairs, &from.N[n_place(step * K_STEP + line_of_bytes(lane), col)]);
        //@| fragment[0] = pairs[0], fragment[1] = pairs[2], fragment[2] = pairs[1], fragment[3] = pairs[3];
        //@ elif mma_f64
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i)
        //@|     fragment[i] = all[(step * K_STEP + i % 2 * 4) * N_LINE + 8 * c + (n_at ^ i / 2 * 8)];  //@ only n_row_major
        //@|     fragment[i] = all[(8 * c + i / 2 * 8) * N_LINE + step / 2 * 16 + (n_at ^ step % 2 * 8 + i % 2 * 4)];  //@ only not n_row_major
        //@ else
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i) {
        //@|     const int of_col = col + lane / 4 + i / 2 * 8, kk = step * K_STEP + lane % 4 + i % 2 * 4;
        //@|     fragment[i] = __float_as_uint(from.N[n_place(kk, of_col)]);  //@ only n_row_major
        //@|     fragment[i] = __float_as_uint(from.N[n_place(of_col, kk)]);  //@ only not n_row_major
        //@| }
        //@ end
#pragma unroll
        for (int i = 0; i < 4; ++i)
            //@| n[step % 2][c + i / 2][i % 2] = round_to_tf32(fragment[i]);  //@ n_now for n[step % 2]  //@ only n_rounds
            n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]  //@ only not n_rounds
    }
    //@ end
};
