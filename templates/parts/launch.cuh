// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//@ if rows_on_y
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
//@ else
//@| //         (ceil(j / TILE_WIDTH), ceil(l / TILE_WIDTH)) blocks in the grid.
//@ end
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
