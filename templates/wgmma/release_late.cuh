// The products of the phase before are there, while those of this one are made: its place is free.
wait_for_products<1>();
if (phase > 0 && lane == 0)  //@ frees for lane == 0
    arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);  //@ free_place for arrive
