arrive_and_expect(full[stage], sizeof tile.M + sizeof tile.N);
#include "strip/bring_m.cuh"  //@ only early_m
#include "strip/bring_n.cuh"  //@ only early_n
