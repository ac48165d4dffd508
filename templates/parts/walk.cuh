//@| next_scales(0);  //@ only scales_parts
#include "parts/first_copies.cuh"
//@| take_zeros();  //@ only has_zeros
if (phases > 0)  //@ only may_be_empty
    load(tiles[0], 0);
load(tiles[0], 0);  //@ only not may_be_empty
for (index_t phase = 0; phase < phases; ++phase) {
    //@| next_scales(phase + 1);  //@ only scales_parts
    #include "parts/next_stage.cuh"  //@ next_stage
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        if (step + 1 < STEPS) {
            load(tiles[current], step + 1);
        } else if (phase + 1 < phases) {  //@ loads_next for else if (phase + 1 < phases)
            //@| if (phase + STAGES - 1 < phases)  //@ only stores_weights
            //@|     store_weights(tiles[free]);
            wait_for_copies<STAGES - 2>();  //@ only copies_async
            __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
            //@| take_zeros();  //@ only has_zeros
            load(tiles[next], 0);
        }
        #include "parts/copy_next.cuh"  //@ copy_next
        multiply(step);
        //@| if ((step + 1) % PART_STEPS == 0)  //@ part_is_complete for (step + 1) % PART_STEPS == 0  //@ only adds_parts
        //@|     add_part(step / PART_STEPS);
    }
    free = current;
    current = next;
}
