//@| // Launch: THREADS threads in a block, sizeof(shared_t) bytes of dynamic shared memory,  //@ only boxes
// Launch: THREADS threads in a block, sizeof(ring_t) * WARPS bytes of dynamic shared memory,  //@ only not boxes
//         (1, ceil(j / BLOCK_ROWS)) blocks in the grid.  //@ only rows_on_y
//@| //         (ceil(j / BLOCK_ROWS), 1) blocks in the grid.  //@ only not rows_on_y
//@ if batched and splits_k
//         blockIdx.z counts the splits of k, of one product of the batch after the other.
//@ elif splits_k
//         blockIdx.z counts the splits of k.
//@ elif batched
//         blockIdx.z counts the products of the batch.
//@ end
