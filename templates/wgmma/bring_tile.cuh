for (int phase = 0; phase < phases; ++phase) {
    const int kk = phase * BK;  //@ first_k for phase
    wait(empty[stage], turn ^ 1);  // what is new counts as empty
    arrive_and_expect(full[stage], sizeof(phase_t));  //@ came for full
    #include "wgmma/bring_line.cuh"  //@ bring_m
    #include "wgmma/bring_blocks.cuh"  //@ bring_n  //@ with n for m, N for M, BN for BM, col for row
    pass(1);
}
