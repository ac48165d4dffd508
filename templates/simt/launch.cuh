// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//@ instead blocks_in_grid
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
//         blockIdx.z counts the products of the batch.
//@ end
