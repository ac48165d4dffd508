// The two blocks of a pair compute tiles that lie one above the other.
constexpr int ROWS = 2 * BM;  // of P, of a pair
const int rank = blockIdx.x % 2;  // of this block
const int rows = (j + ROWS - 1) / ROWS, cols = (l + BN - 1) / BN;
const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
    //@| const int product = tile / (rows * cols);  //@ only walks_products
    //@| tile -= product * rows * cols;  //@ only walks_products
    const int first = tile / (GROUP * cols) * GROUP;
    const int height = min(GROUP, rows - first);
    block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * ROWS + rank * BM;
    block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
    //@| return product;  //@ only walks_products
};
