const int tx = threadIdx.x;
const int ty = threadIdx.y;

//@ if has_groups
//@| #include "parts/group.cuh"
//@ else
// This block's tile of P begins here.
//@ end
//@ if has_groups and rows_on_y
//@| const index_t block_col = blockIdx.x * TILE_WIDTH;
//@ elif has_groups
//@| const index_t block_col = blockIdx.y * TILE_WIDTH;
//@ elif rows_on_y
const index_t block_row = blockIdx.y * TILE_WIDTH;
const index_t block_col = blockIdx.x * TILE_WIDTH;
//@ else
//@| const index_t block_row = blockIdx.x * TILE_WIDTH;  // on x, which counts further than y
//@| const index_t block_col = blockIdx.y * TILE_WIDTH;
//@ end

// The element of P that this thread computes.
const index_t Row = block_row + ty;
const index_t Col = block_col + tx;
