// Factors are multiplied by scales, or less zero points, of this thread's rows. Those are loaded a phase ahead, and converted when they are
// needed: a conversion waits for its number.
struct stored_t {
    //@ instead stored_scales
    float times[PARTS][TM];
    //@ end
} coming;
struct scales_t {
    //@ instead made_scales
    unsigned int times[PARTS][TM];
    //@ end
} scales;
#include "wgmma/load_scales_of_weights.cuh"
const auto make_scales = [&](int phase) {
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const index_t Row = block_row + m_row + r / 2 * 64 + r % 2 * 8;
            const index_t kk = phase * BK + p * SCALE_K;  //@ first_k for phase  //@ part_k for p * SCALE_K
            //@ lines make_scale
        }
};
if (phases > 0) {
    load_scales(0);  //@ first_phase for 0
    make_scales(0);  //@ first_phase for 0
}
