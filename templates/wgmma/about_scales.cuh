
// Parts of k have scales. Other warps of the first warpgroup bring those of a phase to its place of the ring, as floats, and arrive at
// full when they are there. The threads multiply the sums of a part by them before they add it to the sums of all.
