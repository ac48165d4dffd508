// Tensor cores take such elements of shared memory along k alone, and M lies across it. So its factors come from registers: of the 16
// rows of a warp and the K_STEP elements along k of a product, a lane has
//
//              k  0     1     2     3     4     5     6     7
//     row 0    lane 0   1     2     3     0     1     2     3
//     row 1         4   5     6     7     4     5     6     7
//       :
//     row 8         0   1     2     3     0     1     2     3
//       :
//
// A line of the tile holds an element of k, and its chunks of 4 rows have changed places, those of line k and k + 4 by 4 chunks. So
// lanes of rows 0 to 3 load their near elements when those of rows 4 to 7 load their far ones, and they meet in no bank.
constexpr int STEPS = BK / K_STEP / 2;  // of k: a lane loads the factors of half a phase at once
using factors_t = unsigned int[STEPS][TM / 2][4];

__device__ __forceinline__ unsigned int take_factor(unsigned at)
{
    unsigned int factor;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(factor) : "r"(at) : "memory");
    return factor;
}

// at: where the lane's first element lies, of its upper row; far_first: it is the far one.
__device__ __forceinline__ void take_factors(factors_t &m, unsigned at, bool far_first)
{
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const unsigned first = at ^ r % 2 * 32;              // 8 rows are two chunks,
            const unsigned second = first ^ (4 * 128 + 4 * 16);  // and 4 elements along k are lines
            const int offset = m_offset(r / 2 * 64, step * K_STEP);
            const unsigned int one = take_factor(first + offset), other = take_factor(second + offset);
            m[step][r / 2][r % 2] = far_first ? other : one;
            m[step][r / 2][r % 2 + 2] = far_first ? one : other;
            asm volatile("" : "+r"(m[step][r / 2][r % 2]), "+r"(m[step][r / 2][r % 2 + 2]));  // exchanged before the products begin
        }
}

