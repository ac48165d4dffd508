#pragma unroll
for (int s = 0; s < STAGES - 1; ++s) {
    #include "parts/copy_first.cuh"  //@ copy_first
    //@| #include "mma/store_first.cuh"  //@ only stores_weights
    commit_copies();  //@ only copies_async
}
wait_for_copies<STAGES - 2>();  //@ only copies_async
__syncthreads();

int current = 0;        // the stage that is multiplied
int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
for (index_t phase = 0; phase < phases; ++phase) {
    const int next = current + 1 < STAGES ? current + 1 : 0;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        load(tiles[current], step);
        #include "parts/copy_next.cuh"  //@ copy_next
        multiply();
    }
    if (phase + 1 < phases) {
        if (phase + STAGES - 1 < phases)  //@ only stores_weights
            store_weights(tiles[free]);
        wait_for_copies<STAGES - 2>();  //@ only copies_async
        __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
    }
    //@| if ((phase * BK + BK) % SCALE_K == 0 || phase + 1 == phases)  //@ phase_k for phase * BK  //@ only adds_parts
    //@|     add_part(phase);
    free = current;
    current = next;
}
