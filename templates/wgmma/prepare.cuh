// The other warps prepare what has come, where it lies.
if (threadIdx.x >= 32) {
    const int lane = threadIdx.x % 32, preparer = threadIdx.x / 32 - 1;
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols
        //@| #include "wgmma/span_of_tile.cuh"  //@ only divides_k
        for (int phase = 0; phase < phases; ++phase) {
            //@| #include "wgmma/span_of_phase.cuh"  //@ only divides_k
            wait(came[stage], turn);
            #include "wgmma/transpose.cuh"  //@ prepare_m
            #include "wgmma/transpose.cuh"  //@ prepare_n  //@ with n for m, N for M, BN for BM
            publish_stores();
            __syncwarp();
            if (lane == 0)
                arrive(full[stage]);
            pass(1);
        }
    }
}
