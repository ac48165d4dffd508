//@ lines reduction_starts
//@| if (Row < j && Col < l) {  //@ check_j && check_l
//@|     #include "parts/epilogue.cuh"
//@| }
//@ lines element_kept
