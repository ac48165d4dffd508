// What is constant needs no wait: its first tiles are copied while the kernel ahead may still run.
#pragma unroll
for (int s = 0; s < STAGES - 1; ++s) {
    #include "mma/copy_first_of.cuh"  //@ only early_m
    #include "mma/copy_first_of.cuh"  //@ with n for m  //@ only early_n
}
#include "parts/awaits.cuh"
