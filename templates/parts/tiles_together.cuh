// Blocks that run at the same time should find their rows of M and columns of N in the L2: GROUP rows of blocks
// are walked together, column by column.
constexpr int GROUP = 8;
const int id = blockIdx.y * gridDim.x + blockIdx.x;
const int first = id / (GROUP * gridDim.x) * GROUP;
const int height = min(GROUP, gridDim.y - first);
const int tile_y = first + id % (GROUP * gridDim.x) % height;
const int tile_x = id % (GROUP * gridDim.x) / height;
