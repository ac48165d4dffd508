// widen: weights of 8 or 4 bits as numbers of the 16 bits that they are multiplied by, in their order. Those have every such number, so  //@ widened_bits for 16
// it is exact.
#include "weights/s8_to_f16.cuh"  //@ widen_neighbour

#include "weights/widen_bytes.cuh"  //@ widen
#include "weights/load_or_zero.cuh"  //@ weights_loaded
#include "weights/store_widened.cuh"  //@ store_widened
