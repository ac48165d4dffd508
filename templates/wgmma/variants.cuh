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
//@| #include "wgmma/about_squares.cuh"  //@ only squares
//@| #include "wgmma/about_span.cuh"  //@ only divides_k
//@| #include "wgmma/about_weights.cuh"  //@ about_m
//@| #include "wgmma/about_scales.cuh"  //@ only scales_parts
//@ if pingpong

// Ping-pong: each multiplying warpgroup has tiles of its own, and they take turns. While one stores its tile, another multiplies.
//@ end
