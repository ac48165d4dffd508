#pragma unroll
for (int s = 0; s < STAGES - 1; ++s) {
    //@ if spreads_copies
//@| #pragma unroll
    //@| for (int piece = 0; piece < PIECES; ++piece)
    //@ if may_be_short
    //@|     if (s < phases)
    //@|         copy(tiles[s], s, piece);  //@ , checks_phases,
    //@ else
    //@|     copy(tiles[s], s, piece);  //@ , checks_phases,
    //@ end
    //@ elif may_be_short
    if (s < phases)
        copy(tiles[s], s, 0);  //@ , checks_phases, spreads_copies
    //@ else
    //@| copy(tiles[s], s);  //@ , checks_phases
    //@ end
    //@ if stores_weights and may_be_short
    //@| if (s < phases)
    //@|     store_weights(tiles[s]);
    //@ elif stores_weights
    //@| store_weights(tiles[s]);
    //@ end
    //@ if copies_async
    commit_copies();
    //@ end
}
//@ if copies_async
wait_for_copies<STAGES - 2>();
//@ end
__syncthreads();

int current = 0;        // the stage that is multiplied
int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
//@ if loads_ahead and may_be_empty
//@| if (phases > 0)
//@|     load(tiles[0], 0);
//@ elif loads_ahead
load(tiles[0], 0);
//@ end
for (index_t phase = 0; phase < phases; ++phase) {
    //@ if walks_evenly
    //@| // The last phase goes on to load what it began with, which nobody multiplies: a branch around that would take longer.
    //@| const int next = phase + 1 == phases ? current : current + 1 < STAGES ? current + 1 : 0;
    //@ else
    const int next = current + 1 < STAGES ? current + 1 : 0;
    //@ end
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        //@ if loads_ahead
        if (step + 1 < STEPS) {
            load(tiles[current], step + 1);
        //@ if walks_evenly
        //@| } else {
        //@ else
        } else if (phase + 1 < phases) {
        //@ end
            //@ if stores_weights
            //@| if (phase + STAGES - 1 < phases)
            //@|     store_weights(tiles[free]);
            //@ end
            //@ if copies_async
            wait_for_copies<STAGES - 2>();
            //@ end
            __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
            load(tiles[next], 0);
        }
        //@ else
        //@| load(tiles[current], step);
        //@ end
        //@ if spreads_copies
        //@| if (step % 2 == 0 && step / 2 < PIECES && phase + STAGES - 1 < phases)
        //@|     copy(tiles[free], phase + STAGES - 1, step / 2);  //@ , checks_phases,
        //@| if (step == 2 * (PIECES - 1))
        //@|     commit_copies();
        //@ elif copies_async
        if (step == 0) {
            if (phase + STAGES - 1 < phases)
                copy(tiles[free], phase + STAGES - 1, 0);  //@ , checks_phases, spreads_copies
            commit_copies();
        }
        //@ else
        //@| if (step == 0 && phase + STAGES - 1 < phases)
        //@|     copy(tiles[free], phase + STAGES - 1, 0);  //@ , checks_phases, spreads_copies
        //@ end
        //@ if loads_ahead
        multiply(step);
        //@ else
        //@| multiply();
        //@ end
    }
    //@ if not loads_ahead
    //@| if (phase + 1 < phases) {
    //@ if stores_weights
    //@|     if (phase + STAGES - 1 < phases)
    //@|         store_weights(tiles[free]);
    //@ end
    //@ if copies_async
    //@|     wait_for_copies<STAGES - 2>();
    //@ end
    //@|     __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
    //@| }
    //@ end
    //@ if adds_parts
    //@| if ((phase * BK + BK) % SCALE_K == 0 || phase + 1 == phases)  //@ phase_k for phase * BK
    //@|     add_part(phase);
    //@ end
    free = current;
    current = next;
}
