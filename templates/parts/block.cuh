const int tx = threadIdx.x;
const int ty = threadIdx.y;

//@| #include "parts/group.cuh"  //@ only has_groups
// This block's tile of P begins here.  //@ only not has_groups
const index_t block_row = blockIdx.y * TILE_WIDTH;  //@ only rows_on_y and not has_groups
//@| const index_t block_row = blockIdx.x * TILE_WIDTH;  // on x, which counts further than y  //@ only not rows_on_y and not has_groups
const index_t block_col = blockIdx.x * TILE_WIDTH;  //@ col_of_tiles for blockIdx.x

// The element of P that this thread computes.
const index_t Row = block_row + ty;
const index_t Col = block_col + tx;
