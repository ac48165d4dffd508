#include "parts/group.cuh"
const index_t block_col = static_cast<index_t>(tile_x) * BN;
