if (early > 0) {
    --early;  // announced, and what is constant is on its way
} else {
    arrive_and_expect(full[stage], sizeof(phase_t));  //@ came for full
    //@ if constant_in_turns
    //@| if (phase % CLUSTER == rank)
    //@ end
    #include "wgmma/bring_line.cuh"  //@ bring_constant_m
    #include "wgmma/bring_blocks.cuh"  //@ bring_constant_n  //@ with n for m, N for M, BN for BM, col for row
}
