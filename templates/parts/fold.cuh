const bool is_folded = place_x > middle + place_y;
const int tile_y = is_folded ? middle - 1 - place_y : middle + place_y;  //@ row_of_triangle for tile_y
const int tile_x = is_folded ? place_x - middle - place_y - 1 : place_x;  //@ col_of_triangle for tile_x
