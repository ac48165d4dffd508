// Two warps bring the scales of each phase. A thread reads four neighbours along k at once, of rows and columns SCALERS apart, before
// their place in the ring is free.
constexpr int SCALERS = 64;
const int own = threadIdx.x % SCALERS, lane = threadIdx.x % 32;
unsigned int m_words[SCALE_WORDS][BM / SCALERS], n_words[SCALE_WORDS][(BN + SCALERS - 1) / SCALERS];
//@ lines all_scales
for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
    #include "wgmma/tile.cuh"  //@ tile
    //@ lines scales_of_product
    const auto read_scales = [&](int phase) {
#pragma unroll
        for (int word = 0; word < SCALE_WORDS; ++word) {
            #include "tcgen05/read_scales.cuh"  //@ m_read_scales
            #include "tcgen05/read_scales.cuh"  //@ n_read_scales  //@ with n for m, N for M, BN for BM, l for j, col for row
        }
    };
    if (phases > 0)
        read_scales(0);
    for (int phase = 0; phase < phases; ++phase) {
        wait(empty[stage], turn ^ 1);
        auto &scales = shared->scales[stage];
        #include "tcgen05/put_scales.cuh"
        #include "tcgen05/put_scales.cuh"  //@ with n for m, N for M, BN for BM
        //@| #include "tcgen05/turn_signs.cuh"  //@ only turns_signs
        publish_stores();
        __syncwarp();
        if (lane == 0)
            arrive(full[stage]);  //@ take for arrive
        pass(1);
        if (phase + 1 < phases)
            read_scales(phase + 1);
    }
}
