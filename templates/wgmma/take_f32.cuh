constexpr int PLANES = 3;  // high, middle and low
using words_t = vector_t<float, 2>[2][2][2];  // of a unit: rows, products along k, halves of these

#include "wgmma/load_f32.cuh"  //@ load_f32
// Elements are multiplied by 2^16 first, and sums by 2^-16 at last. Then every number is a multiple of 2^-133, which the least bit of a
// bfloat16 may be: so the planes of subnormal numbers are exact, too.
constexpr float F32_SCALE = 0x1p-16f;

// The upper halves of two numbers: each cut off to a bfloat16, which leaves a rest of at most 16 bits, and then of 8. They are taken by a
// volatile instruction: the compiler moves others past the fence that products need between them and their factors.
__device__ __forceinline__ unsigned int cut_off(vector_t<float, 2> &two)
{
    const unsigned int first = __float_as_uint(two.element[0]), second = __float_as_uint(two.element[1]);
    two.element[0] -= __uint_as_float(first & 0xffff0000);
    two.element[1] -= __uint_as_float(second & 0xffff0000);
    unsigned int halves;
    asm volatile("prmt.b32 %0, %1, %2, 0x7632;" : "=r"(halves) : "r"(first), "r"(second));
    return halves;
}

__device__ __forceinline__ void make_factors(factors_t &m, const words_t &word, bool is_odd)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int step = 0; step < 2; ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                vector_t<float, 2> two;
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const float even = word[r][step][half].element[i], odd = word[r][1 - step][half].element[i];
                    two.element[i] = (is_odd ? odd : even) * (1 / F32_SCALE);
                }
#pragma unroll
                for (int plane = 0; plane < PLANES; ++plane)
                    m[plane][step][r + half * 2] = cut_off(two);
            }
}

