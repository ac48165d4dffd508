//@ if has_groups
//@| // A warp finds out whose rows a tile has, and one of its threads starts all copies.
//@| if (threadIdx.x < 32) {
//@ else
// One thread starts all copies.
if (threadIdx.x == 0) {
//@ end
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
        //@ if has_groups
        //@| group_t group;
        //@| index_t block_row, block_col;
        //@| place_of(tile, group, block_row, block_col);
        //@| if (threadIdx.x > 0)
        //@|     continue;
        //@ else
        index_t block_row, block_col;
        place_of(tile, block_row, block_col);
        //@ end
        for (int phase = 0; phase < phases; ++phase) {
            const int kk = phase * BK;  //@ first_k for phase
            wait(empty[stage], turn ^ 1);  // what is new counts as empty
            arrive_and_expect(full[stage], sizeof(phase_t));  //@ came for full
            //@ if m_squares
//@| #pragma unroll
            //@| for (int row = 0; row < BM; row += LINE)
            //@|     copy_box(&tiles[stage].M[0][row], M_map, block_row + row, kk, full[stage]);  //@ m_product for full
            //@ elif m_along_k
            copy_box(&tiles[stage].M, M_map, kk, block_row, full[stage]);  //@ m_product for full
            //@ else
//@| #pragma unroll
            //@| for (int block = 0; block < M_BLOCKS; ++block)
            //@|     copy_box(&tiles[stage].M[block], M_map, block_row + block * LINE, kk, full[stage]);  //@ m_product for full
            //@ end
            //@ if n_squares
//@| #pragma unroll
            //@| for (int col = 0; col < BN; col += LINE)
            //@|     copy_box(&tiles[stage].N[0][col], N_map, block_col + col, kk, full[stage]);  //@ n_product for full
            //@ elif n_along_k
            //@| copy_box(&tiles[stage].N, N_map, kk, block_col, full[stage]);  //@ n_product for full
            //@ else
#pragma unroll
            for (int block = 0; block < N_BLOCKS; ++block)
                copy_box(&tiles[stage].N[block], N_map, block_col + block * LINE, kk, full[stage]);  //@ n_product for full
            //@ end
            pass(1);
        }
    }
}
