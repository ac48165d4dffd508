settle(sum);
//@| #include "wgmma/unfold.cuh"  //@ unfold
//@| #include "wgmma/add_parts.cuh"  //@ only gathers
