// What is constant needs no wait: for the first phases of the first tile it is brought while the kernel ahead may still run.
int early = min(STAGES, phases);
if (threadIdx.x == 0) {
    const int tile = blockIdx.x;  //@ first_brought for blockIdx.x
    #include "wgmma/tile.cuh"
    for (int phase = 0; phase < early; ++phase) {
        const int kk = phase * BK;  //@ first_k for phase
        arrive_and_expect(full[stage], sizeof(phase_t));  //@ came for full
        //@ if constant_in_turns
        //@| if (phase % CLUSTER == rank)
        //@ end
        #include "wgmma/bring_line.cuh"  //@ bring_constant_m
        #include "wgmma/bring_blocks.cuh"  //@ bring_constant_n  //@ with n for m, N for M, BN for BM, col for row
        pass(1);
    }
    stage = turn = 0;
}
#include "parts/awaits.cuh"
