// A warp brings the scales of each phase. It loads them before their place in the ring is free.
if (threadIdx.x / 32 == 1) {
    const int lane = threadIdx.x % 32;
    //@ lines all_scales
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
        #include "wgmma/tile.cuh"  //@ tile
        //@ lines scales_of_product
        //@| #include "wgmma/rows_of_scales.cuh"  //@ rows_of_scales
        for (int phase = 0; phase < phases; ++phase) {
            const int kk = phase * BK;  //@ first_k for phase
            #include "wgmma/load_scales.cuh"  //@ load_m_scales
            #include "wgmma/load_scales.cuh"  //@ load_n_scales  //@ with n for m, N for M, l for j, col for row
            wait(empty[stage], turn ^ 1);
            #include "wgmma/put_scales.cuh"  //@ put_m_scales
            #include "wgmma/put_scales.cuh"  //@ put_n_scales  //@ with n for m, N for M
            __syncwarp();
            if (lane == 0)
                arrive(full[stage]);
            pass(1);
        }
    }
}
