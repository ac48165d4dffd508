// Warpgroups share the k of a tile: each multiplies every SLICES-th phase, and the first one adds up what the others send to it. A lone
// one would wait for its own loads and conversions.
const int slice = (warpgroup - 1) * SLICES / MULTIPLIERS, storer = warp % STORERS;
pass(slice);
