// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//@ if has_groups and rows_on_y
//@| //         (ceil(l / TILE_WIDTH), ceil(all_rows / TILE_WIDTH) + GROUPS - 1) blocks in the grid: as many as all groups may have tiles.
//@ elif has_groups
//@| //         (ceil(all_rows / TILE_WIDTH) + GROUPS - 1, ceil(l / TILE_WIDTH)) blocks in the grid: as many as all groups may have tiles.
//@ elif rows_on_y
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
//@ else
//@| //         (ceil(j / TILE_WIDTH), ceil(l / TILE_WIDTH)) blocks in the grid.
//@ end
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
