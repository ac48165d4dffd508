const index_t j = group.end;  // row j belongs to the next group
scale_n = all_scales_n + group.number * stride_scale_n;  //@ only scale_n and many_groups
#include "parts/scale.cuh"
