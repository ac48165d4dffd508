// Until the last products are there. A tile's number is never negative, so this waits once. But it is a loop, across which ptxas
// moves nothing: ahead of a plain second wait it may convert sums that tensor cores have yet to add to.
asm volatile(
    "{\n"
    ".reg .pred again;\n"
    "last:\n"
    "wgmma.wait_group.sync.aligned 0;\n"
    "setp.lt.s32 again, %0, 0;\n"
    "@again bra last;\n"
    "}" ::"r"(tile) : "memory");
if (phases > 0 && lane == 0)  //@ frees for lane == 0
    arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);  //@ last_place for stage > 0 ? stage - 1 : STAGES - 1  //@ free_place for arrive
