// The elements of k that have one scale are a part: the tensor cores sum up its products, and threads add that times the scale to their
// sums. Scales of this thread's rows are loaded a phase ahead.
constexpr int PARTS = (BK + SCALE_K - 1) / SCALE_K;  // of a phase
struct scales_t {
    float of[PARTS][TM];
} next_scales;
sum_t part[TM][TN];
const auto load_scales = [&](int phase) {
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const index_t Row = block_row + m_row + r / 2 * 64 + r % 2 * 8, kk = phase * BK + p * SCALE_K;  //@ first_k for phase
            next_scales.of[p][r] = Row < j && kk < k ? scale_m[kk / SCALE_K * ld_scale_m + Row] : 0;  //@ scale_at for kk / SCALE_K * ld_scale_m + Row  //@ clips_rows && ends_in_phase
        }
};
const auto add_part = [&](const float (&scale)[TM]) {
    settle(part);
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            sum[r][c] += scale[r] * part[r][c];
};
if (phases > 0)
    load_scales(0);
