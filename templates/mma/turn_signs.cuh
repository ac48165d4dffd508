if (has_signs) {  // tensor cores ignore that of a scale: the elements take it
    #include "mma/turn_m_signs.cuh"  //@ m_turn_signs
    #include "mma/turn_n_signs.cuh"  //@ n_turn_signs
}
