#include "weights/of_8.cuh"  //@ weights_lie
constexpr int NEIGHBOURS = 2;  // weights of a unit  //@ of_a_unit for a unit
constexpr int WORDS = 1;  // of 8 weights
constexpr int WEIGHTS_CHUNK = 16;  // stored elements of 16 bytes

#include "weights/load_units.cuh"  //@ load_units
// Two numbers and two others: 1 * two + more, for both types have this instruction from sm_80 on.
__device__ __forceinline__ unsigned int add_both(unsigned int two, unsigned int more)
{
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(0x3c003c00u), "r"(more));  //@ two_t for f16x2  //@ two_ones for 0x3c003c00u
    return two;
}

#include "weights/s8_to_f16.cuh"  //@ widen_neighbour

#include "weights/unit.cuh"  //@ widen_unit
