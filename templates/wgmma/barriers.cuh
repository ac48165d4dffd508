barrier_t came[STAGES];   // its tiles have come  //@ only prepares
barrier_t full[STAGES];   // its tiles have come  //@ when_full for its tiles have come
barrier_t empty[STAGES];  // nobody needs them any more
barrier_t begins[MULTIPLIERS];  // it is that warpgroup's turn to multiply  //@ only pingpong
//@| barrier_t gathers[4 * MULTIPLIERS];  // the parts of a warp's sums are there  //@ only gathers
//@| barrier_t added[4 * MULTIPLIERS];    // the first block has added them up  //@ only gathers
//@| scales_t scales[STAGES];  // of parts of k  //@ only scales_parts
#include "tcgen05/barriers.cuh"  //@ sum_barriers
