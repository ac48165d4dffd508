if (Row >= j || Col >= l)  //@ check_j || check_l  //@ only check_j or check_l
    continue;
//@| W[Row * l + Col] = Pvalue;  //@ w_place for Row * l + Col  //@ only splits_k
#include "parts/epilogue.cuh"  //@ only not splits_k
