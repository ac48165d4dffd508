//@ if rows_on_x
// Launch: blocks of (TILE_WIDTH, TILE_WIDTH) threads, a grid of (ceil(j / TILE_WIDTH), ceil(l / TILE_WIDTH)) blocks.
//@ end
//@ if rows_on_y
// Launch: blocks of (TILE_WIDTH, TILE_WIDTH) threads, a grid of (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks.
//@ end
