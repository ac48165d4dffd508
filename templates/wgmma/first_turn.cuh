//@| int gathered = 0;  // 0, 1, 0, 1 ... of the tiles  //@ only gathers
//@| int last_product = 0;  //@ only moves_on
//@ if pingpong
//@| int round = warpgroup == 1;  // of turns: what is new counts as over, so the first warpgroup begins
//@| pass(static_cast<long long>(warpgroup - 1) * phases);
//@ end
