const int word = step * SCALES_OF_STEP / 4, byte = step * SCALES_OF_STEP % 4;  // of the scales
//@| #include "mma/turn_signs.cuh"  //@ turn_signs
