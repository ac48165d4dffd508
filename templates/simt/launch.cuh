// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//@ if rows_on_y
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
//@ else
//@| //         (ceil(j / BM), ceil(l / BN)) blocks in the grid.
//@ end
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
