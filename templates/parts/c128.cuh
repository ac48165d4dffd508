#include "parts/c64.cuh"  //@ with c128 for c64, double for float
