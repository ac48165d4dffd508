// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//@ if has_groups and rows_on_y
//@| //         (ceil(l / BN), ceil(all_rows / BM) + GROUPS - 1) blocks in the grid: as many as all groups may have tiles.
//@ elif has_groups
//@| //         (ceil(all_rows / BM) + GROUPS - 1, ceil(l / BN)) blocks in the grid: as many as all groups may have tiles.
//@ elif rows_on_y
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
//@ else
//@| //         (ceil(j / BM), ceil(l / BN)) blocks in the grid.
//@ end
//         blockIdx.z counts the products of the batch.  //@ only batched
