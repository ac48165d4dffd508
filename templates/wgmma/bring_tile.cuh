for (int phase = 0; phase < phases; ++phase) {
    const int kk = phase * BK;  //@ first_k for phase
    wait(empty[stage], turn ^ 1);  // what is new counts as empty
    arrive_and_expect(full[stage], sizeof(phase_t));  //@ expect for arrive_and_expect  //@ brought for sizeof(phase_t)  //@ came for full
    //@ if m_in_turns
    //@| if (phase % CLUSTER == rank)
    //@|     #include "wgmma/bring_line.cuh"  //@ bring_m
    //@ else
    #include "wgmma/bring_line.cuh"  //@ bring_m
    //@ end
    //@ if n_in_turns
    //@| if (phase % CLUSTER == rank)
    //@|     #include "wgmma/bring_blocks.cuh"  //@ bring_n  //@ with n for m, N for M, BN for BM, col for row
    //@ else
    #include "wgmma/bring_blocks.cuh"  //@ bring_n  //@ with n for m, N for M, BN for BM, col for row
    //@ end
    pass(1);
}
