wait_for_products<0>();
if (lane == 0)  //@ frees for lane == 0
    arrive(empty[stage]);  //@ free_place for arrive
