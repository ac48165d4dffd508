// A warp finds out whose rows a tile has, and one of its threads starts all copies.
if (threadIdx.x < 32) {
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
        #include "wgmma/tile_of_group.cuh"
        if (threadIdx.x > 0)
            continue;
        #include "wgmma/bring_tile.cuh"
    }
}
