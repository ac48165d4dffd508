// The elements of k that have one scale are a part. Scales and zero points of this thread's rows are loaded a phase ahead.
constexpr int PARTS = (BK + SCALE_K - 1) / SCALE_K;  // of a phase  //@ phase_parts for (BK + SCALE_K - 1) / SCALE_K
struct scales_t {
    //@ instead scale_members
    float of[PARTS][TM];
    //@ end
} next_scales;
const auto load_scales = [&](int phase) {
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const index_t Row = block_row + m_row + r / 2 * 64 + r % 2 * 8;
            const index_t kk = phase * BK + p * SCALE_K;  //@ first_k for phase  //@ part_k for p * SCALE_K
            //@ instead load_members
            next_scales.of[p][r] = Row < j && kk < k ? scale_m[kk / SCALE_K * ld_scale_m + Row] : 0.0f;
            //@ end
        }
};
if (phases > 0)
    load_scales(0);
