const index_t j = group.end;  // row j belongs to the next group
//@ lines those_of_group
#include "parts/scale.cuh"
