const bool is_folded = place_x > half + place_y;
const int tile_y = is_folded ? half - 1 - place_y : half + place_y;  //@ row_of_triangle for tile_y
const int tile_x = is_folded ? place_x - half - place_y - 1 : place_x;  //@ col_of_triangle for tile_x
