// The blocks of a cluster compute tiles that are neighbours, and share the tiles of one operand: they take turns to bring them to all.
constexpr int ROWS = CLUSTER * BM, COLS = BN;  // of P, of a cluster  //@ cluster_rows for CLUSTER * BM  //@ cluster_cols for BN
const int rank = blockIdx.x % CLUSTER;  // of this block
const int rows = (j + ROWS - 1) / ROWS, cols = (l + COLS - 1) / COLS;
const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
    //@| const int product = tile / (rows * cols);  //@ only walks_products
    //@| tile -= product * rows * cols;  //@ only walks_products
    const int first = tile / (GROUP * cols) * GROUP;
    const int height = min(GROUP, rows - first);
    block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * ROWS + rank * BM;  //@ own_row for ROWS + rank * BM
    block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * COLS + rank * BN;  //@ own_col for COLS + rank * BN
    //@| return product;  //@ only walks_products
};
