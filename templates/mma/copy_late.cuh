#include "mma/copy_first_of.cuh"  //@ only early_n
#include "mma/copy_first_of.cuh"  //@ with n for m  //@ only early_m
