#include "weights/of_8.cuh"  //@ weights_lie
constexpr int NEIGHBOURS = 2;  // weights of a unit  //@ of_a_unit for a unit
constexpr int WORDS = 1;  // of 8 weights
constexpr int WEIGHTS_CHUNK = 16;  // stored elements of 16 bytes

#include "weights/load_units.cuh"  //@ load_units
//@| #include "weights/both_bf16.cuh"  //@ both
#include "weights/s8_to_f16.cuh"  //@ widen_neighbour
//@| #include "weights/widen_less.cuh"  //@ widen_less

#include "weights/unit.cuh"  //@ widen_unit
