// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.  //@ grid_x for ceil(l / TILE_WIDTH)  //@ grid_y for ceil(j / TILE_WIDTH)  //@ in_grid for in the grid.
//         blockIdx.z counts the products of the batch.  //@ only batched
