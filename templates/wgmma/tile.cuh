index_t block_row, block_col;
place_of(tile, block_row, block_col);  //@ only not walks_products
//@| const int product = place_of(tile, block_row, block_col);  //@ only walks_products
//@| #include "wgmma/span_of_tile.cuh"  //@ only divides_k
