for (index_t phase = 0; phase * TILE_WIDTH < k; ++phase) {  //@ end_of_k for k  //@ k_phase for phase * TILE_WIDTH
    // One element of M and one of N for each thread to load.
    // Zero, which adds nothing, where a tile hangs over the edge.  //@ only check_j or check_k or check_l
    const index_t k_tx = phase * TILE_WIDTH + tx;  //@ k_phase for phase * TILE_WIDTH  //@ only m_row_major or not n_row_major
    const index_t k_ty = phase * TILE_WIDTH + ty;  //@ k_phase for phase * TILE_WIDTH  //@ only n_row_major or not m_row_major
    Mds[ty][tx] = Row < j && k_tx < k ? M[Row * ld_m + k_tx] : sum_t{0};  //@ check_j && check_k  //@ end_of_k for k  //@ m_k for k_tx  //@ m_read for M[Row * ld_m + k_tx]  //@ m_inside for Row < j
    Nds[ty][tx] = k_ty < k && Col < l ? N[k_ty * ld_n + Col] : sum_t{0};  //@ check_k && check_l  //@ end_of_k for k  //@ n_k for k_ty  //@ n_col for Col  //@ n_read for N[k_ty * ld_n + Col]  //@ n_place for Nds[ty][tx]
    __syncthreads();  // read after write: both tiles are complete before anyone reads them

    for (int i = 0; i < TILE_WIDTH; ++i)
        Pvalue += Mds[ty][i] * Nds[i][tx];  //@ m_element for Mds[ty][i]  //@ only not complex
        //@| add_product(Pvalue, Mds[ty][i], Nds[i][tx]);  //@ m_element for Mds[ty][i]  //@ only complex
    __syncthreads();  // write after read: everyone is done with them before the next phase overwrites them
}
