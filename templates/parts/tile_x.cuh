const int tile_y = blockIdx.x;  // rows on x, which counts further than y
const int tile_x = blockIdx.y;
