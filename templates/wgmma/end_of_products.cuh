settle(sum);
//@| #include "wgmma/add_parts.cuh"  //@ only gathers
