// What is constant needs no wait: for the first phases it is brought while the kernel ahead may still run.
int early = min(STAGES, phases);
if (threadIdx.x == WARPS * WARP) {
    for (int phase = 0; phase < early; ++phase) {
        const int kk = phase * PHASE;  //@ first_k for phase
        phase_t &tile = shared->phase[stage];
        #include "strip/bring_constant.cuh"
        pass();
    }
    stage = turn = 0;
}
#include "parts/awaits.cuh"
