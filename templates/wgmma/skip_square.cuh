//@| #include "wgmma/of_product.cuh"  //@ only walks_products
if (block_col >= block_row + group_row + WM) {  // this warpgroup's square is beyond the diagonal  //@ square_beyond_diagonal for block_col >= block_row + group_row + WM
    for (int phase = 0; phase < phases; ++phase) {
        wait(full[stage], turn);
        if (lane == 0)
            arrive(empty[stage]);
        pass(1);
    }
    continue;
}
