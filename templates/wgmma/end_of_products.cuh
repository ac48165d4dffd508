settle(sum);
//@| #include "wgmma/unfold.cuh"  //@ unfold
//@| #include "wgmma/add_parts.cuh"  //@ add_parts
