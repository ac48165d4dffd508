#include "parts/folded.cuh"
#include "parts/tile_y.cuh"  //@ which_place  //@ with place for tile
const int middle = gridDim.x / 2;  //@ cols_axis for x
#include "parts/fold.cuh"
