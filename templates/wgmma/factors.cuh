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
// A line of the tile holds an element of k for each row, and its chunks of 4 rows have changed places. Two lanes meet in each bank, which
// costs less than to keep them apart: they would load the elements of a row in turns, and exchange them.
constexpr int STEPS = BK / K_STEP / 2;  // of k: a lane loads the factors of half a phase at once
using factors_t = unsigned int[STEPS][TM / 2][4];

// at: where the lane's first element lies.
__device__ __forceinline__ void take_factors(factors_t &m, unsigned at)
{
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int far = 0; far < 2; ++far) {
                const unsigned chunk = at ^ (r % 2 * 32 + far * 64);  // 8 rows are two chunks; lines 4 apart differ by 4
                const int offset = m_offset(r / 2 * 64, step * K_STEP + far * 4);
                asm volatile("ld.shared.b32 %0, [%1];" : "=r"(m[step][r / 2][r % 2 + far * 2]) : "r"(chunk + offset) : "memory");
            }
}

