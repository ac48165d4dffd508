//@| next_scales(0);  //@ only scales_parts
#include "parts/first_copies.cuh"
for (index_t phase = 0; phase < phases; ++phase) {
    //@| take_zeros();  //@ only has_zeros
    //@| next_scales(phase + 1);  //@ only scales_parts
    const int next = current + 1 < STAGES ? current + 1 : 0;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        load(tiles[current], step);
        #include "parts/copy_next.cuh"  //@ copy_next
        multiply();
        //@| if ((step + 1) % PART_STEPS == 0)  //@ part_is_complete for (step + 1) % PART_STEPS == 0  //@ only adds_parts
        //@|     add_part(step / PART_STEPS);
    }
    if (phase + 1 < phases) {
        if (phase + STAGES - 1 < phases)  //@ only stores_weights
            store_weights(tiles[free]);
        wait_for_copies<STAGES - 2>();  //@ only copies_async
        __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
    }
    free = current;
    current = next;
}
