
// M is f32, and N bfloat16. The warps that multiply load M to registers, where three bfloat16 hold all bits of each element, and multiply
// these planes from there: three products, whose sums tensor cores make from small to large for UNIT elements of k at a time, and the
// threads, in f32, over all of k. No bit of M is lost. An infinity, a NaN, or an M from 2^112 on makes a sum infinite or NaN, which its
// thread computes again.
