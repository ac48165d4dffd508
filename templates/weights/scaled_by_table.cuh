#include "weights/multiply_both.cuh"
// e2m1 times a scale that is a power of 2, or has 4 bits, as bfloat16, exactly. Tables turn 4 bits into the last 7 bits of the bfloat16
// 44 + 2 * weight, so that one multiply-add gives factor * (44 + 2 * weight) - 44 * factor. A scale of 2^127 fits with a factor of 2^-5,
// and so does one of 2^-127: the smallest of these numbers, 2^-132, is twice the smallest bfloat16. Sums are 16 times too small.
constexpr unsigned int TABLE_FACTOR = 0x3d003d00u, TABLE_ZERO = 0xc230c230u;  // 2^-5 and -44, twice
constexpr float TABLE_SUM = 16;
#include "weights/twice_e8m0.cuh"  //@ scale_twice

// Bytes of two tables of 8, by the last 3 bits of each of 4 selectors; 0 where its first bit is set.
__device__ __forceinline__ unsigned int look_up(unsigned int low, unsigned int high, unsigned int selectors)
{
    unsigned int bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(selectors));
    return bytes;
}

// 8 weights, in their order.
__device__ __forceinline__ void widen_scaled(unsigned int word, unsigned int factors, unsigned int less, unsigned int (&pairs)[4])
{
    const unsigned int other_signs = word ^ 0x88888888u;
#pragma unroll
    for (int four = 0; four < 2; ++four) {
        const unsigned int positive = look_up(0x3c383430u, 0x60504840u, word >> 16 * four);
        const unsigned int negative = look_up(0x24282c30u, 0x00101820u, other_signs >> 16 * four);
#pragma unroll
        for (int two = 0; two < 2; ++two) {
            unsigned int &pair = pairs[2 * four + two];
            pair = __byte_perm(positive | negative, 0x42424242u, two == 0 ? 0x4140 : 0x4342);
            asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(factors), "r"(less));
        }
    }
}
