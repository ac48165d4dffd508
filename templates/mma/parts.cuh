constexpr int PARTS = 1;  // of what a warp multiplies of a phase
constexpr int PART_STEPS = STEPS / PARTS;
#include "mma/scales.cuh"  //@ only scales_parts
//@| #include "mma/ends_part.cuh"  //@ ends_part

