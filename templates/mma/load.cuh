// load: the fragments of one step, for the rows and columns of this warp.
//@ if loads_ahead
fragment_t m[2][WM / 16][4], n[2][WN / 8][2];
//@ else
//@| fragment_t m[WM / 16][4], n[WN / 8][2];
//@ end
const auto load = [&](const phase_t &from, int step) {
#pragma unroll
    for (int r = 0; r < WM / 16; ++r) {
        const int row = warp_row + 16 * r;
        fragment_t (&fragment)[4] = m[step % 2][r];  //@ m_now for m[step % 2]
        //@ if m_whole
        load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);
        //@ elif m_halves
        //@| load_transposed(fragment, &from.M[m_place(step * K_STEP + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8)]);
        //@ elif m_bytes
        //@| load_bytes(fragment, &from.M[m_place(step * K_STEP + line_of_bytes(lane), row)]);
        //@ else
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i) {
        //@|     const int of_row = row + lane / 4 + i % 2 * 8, kk = step * K_STEP + lane % 4 + i / 2 * 4;
        //@ if m_row_major
        //@|     const input_t element = from.M[m_place(of_row, kk)];
        //@ else
        //@|     const input_t element = from.M[m_place(kk, of_row)];
        //@ end
        //@ if mma_f64
        //@|     fragment[i] = element;
        //@ else
        //@|     fragment[i] = __float_as_uint(element);
        //@ end
        //@| }
        //@ end
        //@ if m_rounds
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i)
        //@|     fragment[i] = round_to_tf32(fragment[i]);
        //@ end
    }
#pragma unroll
    for (int c = 0; c < WN / 8; c += 2) {
        const int col = warp_col + 8 * c;
        fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
        //@ if n_whole
        //@| load_matrices(fragment, &from.N[n_place(col + lane / 16 * 8 + lane % 8, step * K_STEP + lane / 8 % 2 * CHUNK)]);
        //@ elif n_halves
        load_transposed(fragment, &from.N[n_place(step * K_STEP + lane % 16, col + lane / 16 * 8)]);
        //@ elif n_bytes
        //@| fragment_t pairs[4];
        //@| load_bytes(pairs, &from.N[n_place(step * K_STEP + line_of_bytes(lane), col)]);
        //@| fragment[0] = pairs[0], fragment[1] = pairs[2], fragment[2] = pairs[1], fragment[3] = pairs[3];
        //@ else
//@| #pragma unroll
        //@| for (int i = 0; i < 4; ++i) {
        //@|     const int of_col = col + lane / 4 + i / 2 * 8, kk = step * K_STEP + lane % 4 + i % 2 * 4;
        //@ if n_row_major
        //@|     const input_t element = from.N[n_place(kk, of_col)];
        //@ else
        //@|     const input_t element = from.N[n_place(of_col, kk)];
        //@ end
        //@ if mma_f64
        //@|     fragment[i] = element;
        //@ else
        //@|     fragment[i] = __float_as_uint(element);
        //@ end
        //@| }
        //@ end
#pragma unroll
        for (int i = 0; i < 4; ++i)
            //@ if n_rounds
            //@| n[step % 2][c + i / 2][i % 2] = round_to_tf32(fragment[i]);  //@ n_now for n[step % 2]
            //@ else
            n[step % 2][c + i / 2][i % 2] = fragment[i];  //@ n_now for n[step % 2]
            //@ end
    }
};
