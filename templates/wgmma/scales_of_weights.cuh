// The elements of k that have one scale are a part. Scales and zero points of this thread's rows are loaded a phase ahead, and converted
// when they are needed: a conversion waits for its number.
constexpr int PARTS = (BK + SCALE_K - 1) / SCALE_K;  // of a phase  //@ phase_parts for (BK + SCALE_K - 1) / SCALE_K
struct stored_t {
    //@ instead stored_scales
    float of[PARTS][TM];
    //@ end
} coming;
struct scales_t {
    //@ instead made_scales
    float of[PARTS][TM];
    //@ end
} scales;
#include "wgmma/each_scale.cuh"  //@ with load for visit
#include "wgmma/each_scale.cuh"  //@ with make for visit
if (phases > 0) {
    load_scales(0);
    make_scales(0);
}
