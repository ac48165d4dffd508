//@| constexpr int SLICES = 1;  // of a phase: other warps multiply each of them
//@| constexpr int WARPS = BM / WM * (BN / WN);  // of a slice
//@| constexpr int PART_K = 128;  // elements of k whose products have a sum of their own  //@ only adds_parts
