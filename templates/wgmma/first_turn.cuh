//@| int gathered = 0;  // 0, 1, 0, 1 ... of the tiles  //@ only gathers
//@| int last_product = 0;  //@ only moves_on
//@ if pingpong
//@| int round = warpgroup == 1;  // of turns: what is new counts as over, so the first warpgroup begins
//@ if divides_k
//@| for (int other = 0; other < warpgroup - 1; ++other)
//@|     pass(span_of(blockIdx.x + other * gridDim.x).phases);
//@ else
//@| pass(static_cast<long long>(warpgroup - 1) * phases);
//@ end
//@ end
