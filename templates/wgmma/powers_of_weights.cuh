// Factors are multiplied by powers of 2, the scales of this thread's rows, which are loaded a phase ahead. A warp that has a large one
// multiplies by all of the phase in two steps.
e8m0 coming[PARTS][TM];
unsigned int powers[PARTS][TM];  // two factors or, if one is larger, bits
bool has_larger;
#include "wgmma/load_scales_of_weights.cuh"
const auto make_scales = [&](int) {
    unsigned int largest = 0;
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r)
            largest = max(largest, static_cast<unsigned int>(coming[p][r].bits));
    has_larger = __any_sync(~0u, largest > LARGEST);
    const unsigned int times = has_larger ? 1 : TIMES_POWER, more = has_larger ? 0 : PLUS_POWER;
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r)
            powers[p][r] = coming[p][r].bits * times + more;
};
if (phases > 0) {
    load_scales(0);  //@ first_phase for 0
    make_scales(0);
}
