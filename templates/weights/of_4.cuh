// Weights that are neighbours across k, as they lie: a unit of 2 bytes holds 2 of 8 bits, or 4 of 4 bits. Of 16 lines, one for each
// element of k, load_weights brings 8 units each, transposed. So lane 4 g + t receives unit g of lines 2 t and 2 t + 1 of both chunks,
// in which each neighbour has just those elements of k that this lane holds of a fragment. A few instructions part one neighbour's two
// from the rest, and make numbers of 16 bits of them, exactly:
//
//                unit g of line 2 t + 1      unit g of line 2 t
//              +------+------+------+------+------+------+------+------+
//              |  3   |  2   |  1   |  0   |  3   |  2   |  1   |  0   |   neighbours, of 4 bits each
//              +------+------+------+------+------+------+------+------+
//                                 |                           |
//              +------------------v--------+------------------v--------+
//  neighbour 1 |      of line 2 t + 1      |       of line 2 t         |   16 bits each
//              +---------------------------+---------------------------+
