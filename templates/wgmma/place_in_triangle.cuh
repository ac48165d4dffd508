#include "parts/folded.cuh"
const int side = (j + BM - 1) / BM, middle = side / 2, rows = side - middle, cols = 2 * middle + 1;
const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
    //@| const int product = tile / (rows * cols);  //@ only walks_products
    //@| tile -= product * rows * cols;  //@ only walks_products
    const int first = tile / (GROUP * cols) * GROUP;
    const int height = min(GROUP, rows - first);
    const int place_y = first + tile % (GROUP * cols) % height;
    const int place_x = tile % (GROUP * cols) / height;
    #include "parts/fold.cuh"
    block_row = static_cast<index_t>(tile_y) * BM;
    block_col = static_cast<index_t>(tile_x) * BN;
    //@| return product;  //@ only walks_products
};
