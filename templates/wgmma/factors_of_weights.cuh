// M has numbers that tensor cores do not multiply. So its factors come from registers, to which the warps that multiply load elements, and
// convert them. Of the 16 rows of a warp and the K_STEP elements along k of a product, a lane has
//
#include "wgmma/lie_in_twos.cuh"  //@ factors_lie
constexpr int UNIT = 2 * K_STEP;  // elements of k whose factors a lane makes at once, for 64 rows
constexpr int UNITS = BK / UNIT;
constexpr int UNIT_BYTES = UNIT / 2;  // of a line of M
using factors_t = unsigned int[2][4];  //@ factors_of_unit for unsigned int[2][4]

#include "weights/s8_to_f16.cuh"  //@ widen_factor
#include "weights/multiply_both.cuh"  //@ multiply_both
#include "wgmma/both.cuh"  //@ both

//@ if selects
__device__ __forceinline__ void load_chunk(unsigned int &w0, unsigned int &w1, unsigned int &w2, unsigned int &w3, unsigned at)
{
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(w0), "=r"(w1), "=r"(w2), "=r"(w3) : "r"(at) : "memory");
}

//@ end
#include "wgmma/take_4.cuh"  //@ take_factors
