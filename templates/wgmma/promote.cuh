for (int phase = 0; phase < phases; ++phase) {
    begin_phase();  //@ only pingpong
#pragma unroll
    for (int first = 0; first < BK; first += PART) {
        #include "wgmma/scales_of_part.cuh"  //@ only scales_parts
        #include "wgmma/promote_rows.cuh"  //@ promoted
    }
    pass(1);
    if (phase + 1 >= phases)  //@ only not pingpong
        break;
    begin_phase();  //@ only not pingpong
}
// The first products of the next tile are made while this one is stored.  //@ only not pingpong
if (phases > 0 && tile + gridDim.x < rows * cols)  //@ next_phases for phases  //@ tiles for rows * cols  //@ next_tile for gridDim.x  //@ only not pingpong
    begin_phase();
