//@| #include "parts/groups.cuh"  //@ only has_groups
//@| #include "parts/k_offsets.cuh"  //@ only divides_k
//@| #include "parts/gather.cuh"  //@ only gathers_m
//@| #include "parts/scatter.cuh"  //@ only scatters_p
