// Only the tiles of one triangle are computed. A tile is two squares, one above the other, with a warpgroup each. `side` rows have `side`
// tiles of which one square alone is needed (o), and the whole ones are as many as in a square of tiles: the tiles of a row there lie in
// a row and a column that meet in the diagonal. The upper triangle is this one, turned by half a turn.
//
//     a .                  a d
//     a o          ->      b c
//     b c d .
//     b c d o
const int side = (j + BM - 1) / BM, whole = side * side, rows = side, cols = side + 1;
// A block takes two tiles of one square for a whole one, unless there is a block for each.
const int share = gridDim.x < rows * cols ? 2 : 1, jobs = whole + (side + share - 1) / share;  //@ tiles for rows * cols
const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
    //@| const int product = tile / (rows * cols);  //@ only walks_products
    //@| tile -= product * rows * cols;  //@ only walks_products
    const int first = tile / (GROUP * side) * GROUP;
    const int height = min(GROUP, side - first);
    const int place_y = first + tile % (GROUP * side) % height;
    const int place_x = tile % (GROUP * side) / height;
    int tile_y = max(place_x, place_y), tile_x = place_x > place_y ? place_y + place_x + 1 : place_x;
    if (tile >= whole) {
        tile_y = tile - whole;
        tile_x = 2 * tile_y + 1;
    }
    block_row = static_cast<index_t>(tile_y) * BM;  //@ row_of_tall for tile_y
    block_col = static_cast<index_t>(tile_x) * BN;  //@ col_of_tall for tile_x
    //@| return product;  //@ only walks_products
};
// The first tile of a job, and the way from a tile to the next one of this block.
const auto tile_of = [&](int job) {
    const int place = job % jobs;
    return job / jobs * (rows * cols) + (place < whole ? place : whole + (place - whole) * share);
};
const auto step_from = [&](int tile) {
    const int place = tile % (rows * cols);
    if (place >= whole && (place - whole) % share < share - 1 && place + 1 < rows * cols)
        return 1;
    const int job = tile / (rows * cols) * jobs + (place < whole ? place : whole + (place - whole) / share);
    return tile_of(job + static_cast<int>(gridDim.x)) - tile;
};
