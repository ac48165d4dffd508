//@| #include "strip/fold_parts.cuh"  //@ only complex
// The lanes along k fold their sums: each keeps one half of them, and gives the other to the lane that keeps that; and so on
// with the half. A template, because a loop whose length depends on another's is not unrolled, and the sums would leave the
// registers.
template <int DISTANCE>
__device__ __forceinline__ void fold(sum_t (&sum)[K_LANES * SHARE], int k_lane)
{
    if constexpr (DISTANCE > 0) {
        const bool is_upper = k_lane & DISTANCE;
#pragma unroll
        for (int i = 0; i < DISTANCE * SHARE; ++i) {
            const sum_t given = is_upper ? sum[i] : sum[i + DISTANCE * SHARE];
            const sum_t kept = is_upper ? sum[i + DISTANCE * SHARE] : sum[i];
            sum[i] = kept + __shfl_xor_sync(0xffffffff, given, DISTANCE);
        }
        fold<DISTANCE / 2>(sum, k_lane);
    }
}
