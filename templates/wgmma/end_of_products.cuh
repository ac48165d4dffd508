settle(sum);
//@| #include "wgmma/compute_again.cuh"  //@ only m_planes
//@| #include "wgmma/unfold.cuh"  //@ unfold
//@| #include "wgmma/add_parts.cuh"  //@ add_parts
