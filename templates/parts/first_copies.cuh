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
