// One thread starts all copies.
if (threadIdx.x == 0) {
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
        #include "wgmma/tile.cuh"
        //@| #include "tcgen05/half_of_n.cuh"  //@ half_of_n
        #include "wgmma/bring_tile.cuh"
    }
}
