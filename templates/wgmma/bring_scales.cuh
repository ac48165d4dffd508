// SCALERS warps bring the scales of each phase. They load those of AT_ONCE parts before the first place in the ring is free, so that they wait
// for memory once for several phases. The lanes of a row load its scales of parts that follow each other, which are neighbours in memory
// where scales lie row by row.
if (threadIdx.x >= 32 && threadIdx.x < 32 * (1 + SCALERS)) {
    const int lane = threadIdx.x % 32;
    constexpr int LINES = 32 * SCALERS / AT_ONCE;
    const int own_part = lane % AT_ONCE;
    int line = (threadIdx.x - 32) / AT_ONCE;
    //@ lines all_scales
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
        #include "wgmma/tile.cuh"  //@ tile
        //@ lines scales_of_product
        //@| #include "wgmma/rows_of_scales.cuh"  //@ rows_of_scales
        for (int phase = 0; phase < phases; phase += AT_ONCE / PARTS) {
            asm volatile("" : "+r"(line));  // addresses are computed anew: there are no registers to keep them
            const index_t along = phase * BK + own_part * PART;  //@ first_k for phase
            #include "wgmma/load_scales.cuh"  //@ load_m_scales
            #include "wgmma/load_scales.cuh"  //@ load_n_scales  //@ with n for m, N for M, l for j, col for row
#pragma unroll
            for (int part = 0; part < AT_ONCE; part += PARTS) {  // the first one of each phase
                if (phase + part / PARTS >= phases)
                    break;
                wait(empty[stage], turn ^ 1);
                if (own_part / PARTS * PARTS == part) {
                    #include "wgmma/put_scales.cuh"  //@ put_m_scales
                    #include "wgmma/put_scales.cuh"  //@ put_n_scales  //@ with n for m, N for M
                }
                __syncwarp();
                if (lane == 0)
                    arrive(full[stage]);
                pass(1);
            }
        }
    }
}
