// The scales of the part, for this thread's rows and columns.
const auto &scales = shared->scales[stage];
#include "wgmma/scales_of_rows.cuh"  //@ m_scales
#include "wgmma/scales_of_cols.cuh"  //@ n_scales
