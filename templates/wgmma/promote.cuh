//@| #include "wgmma/unequal_zeros.cuh"  //@ unequal_zeros
for (int phase = 0; phase < phases; ++phase) {
    begin_phase();  //@ only not ahead
#pragma unroll
    for (int first = 0; first < BK; first += PART) {
        #include "wgmma/scales_of_part.cuh"  //@ only scales_parts
        #include "wgmma/promote_rows.cuh"  //@ promoted
    }
    pass(1);
    if (phase + 1 >= phases)  //@ only ahead
        break;
    begin_phase();  //@ only ahead
}
// The first products of the next tile are made while this one is stored.  //@ only ahead
if (phases > 0 && tile + gridDim.x < rows * cols)  //@ next_phases for phases  //@ tiles for rows * cols  //@ next_tile for gridDim.x  //@ only ahead
    begin_phase();
