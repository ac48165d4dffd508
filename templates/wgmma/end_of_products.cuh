settle(sum);
//@| #include "wgmma/compute_again.cuh"  //@ compute_again
//@| #include "wgmma/unfold.cuh"  //@ unfold
//@| #include "wgmma/add_parts.cuh"  //@ add_parts
