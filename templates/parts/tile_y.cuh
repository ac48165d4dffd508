const int tile_y = blockIdx.y;
const int tile_x = blockIdx.x;
