//@ if gathers

// A cluster of blocks shares the k of a tile: each multiplies a part of it, and the first one adds up what the others send to it. So P
// is stored once, by this kernel.
//@ end
//@ if shares_tiles

// A cluster of blocks shares the tiles of one operand, which are read from the L2 once for all of them: in turns, each block copies them
// to the shared memory of all. So a place of the ring is empty when the warps of all blocks have multiplied what is there.
//@ end
//@ if by_cols

// Swapped: tensor cores take 64 rows of M at once, and columns of N in steps of 8. The few rows of the caller's P are therefore columns
// here, so that hardly any product is made for nothing. P lies column by column.
//@ end
//@ if squares

// Tensor cores take such elements along k alone. Tiles of what lies across k are transposed between the two, where they lie: by the
// warps next to the one that starts the copies, which wait until the tiles have come, and then hand them on as full.
//@ end
//@ if divides_k

// Groups divide k, so each has tiles of all of P, and a number of phases of its own. The first and the last one may bring elements of its
// neighbours: the warps next to the one that starts the copies replace them by zeros before they hand a phase on as full.
//@ end
//@ if m_planes

// M is f32, and N bfloat16. The warps that multiply load M to registers, where three bfloat16 hold all bits of each element, and multiply
// these planes from there: three products, whose sums tensor cores make from small to large for UNIT elements of k at a time, and the
// threads, in f32, over all of k. No bit of M is lost. An infinity, a NaN, or an M from 2^112 on makes a sum infinite or NaN, which its
// thread computes again.
//@ elif m_weights

// M has weights of fewer bits than tensor cores multiply. They come as they are; the warps that multiply load them to registers, widen
// them there, and multiply from there.
//@ elif m_registers

// Tensor cores take such elements of shared memory along k alone, and M lies across it. So the warps that multiply load its elements to
// registers, in the order that a product takes.
//@ end
//@ if scales_parts

// Parts of k have scales. Other warps of the first warpgroup bring those of a phase to its place of the ring, as floats, and arrive at
// full when they are there. The threads multiply the sums of a part by them before they add it to the sums of all.
//@ end
//@ if pingpong

// Ping-pong: each multiplying warpgroup has tiles of its own, and they take turns. While one stores its tile, another multiplies.
//@ end
