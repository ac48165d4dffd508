// Where an element of a line lies in its tile.
#include "mma/place_swizzled.cuh"  //@ m_places

#include "mma/place_swizzled.cuh"  //@ n_places  //@ with n for m, N for M
