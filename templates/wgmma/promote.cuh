for (int phase = 0; phase < phases; ++phase) {
    begin_phase();  //@ only pingpong
#pragma unroll
    for (int first = 0; first < BK; first += PART) {
        //@| #include "wgmma/scales_of_part.cuh"  //@ only scales_parts
#pragma unroll
        for (int r = 0; r < TM; r += 2) {
            if (first + r > 0)
                multiply_part(r, first);
            wait_for_products<0>();
            if (first + PART == BK && r + 2 == TM && lane == 0)  //@ frees for lane == 0
                arrive(empty[stage]);  //@ free_place for arrive
            settle(part);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r + i][c] += part[i][c];  //@ scaled_part for part[i][c]
        }
    }
    pass(1);
    //@ if not pingpong
    //@| if (phase + 1 >= phases)
    //@|     break;
    //@| begin_phase();
    //@ end
}
//@ if not pingpong
//@| // The first products of the next tile are made while this one is stored.
//@| if (phases > 0 && tile + gridDim.x < rows * cols)  //@ tiles for rows * cols  //@ next_tile for gridDim.x
//@|     begin_phase();
//@ end
