// add_part: where the last phase of those that share a scale ends, their products times that scale are added to the sums.
const auto add_part = [&](index_t phase) {
    const float *const scales = &scale_m[phase * BK / SCALE_K * ld_scale_m];  //@ phase_k for phase * BK
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r;  //@ row_of for r
        const float scale = Row < j ? scales[Row] : 0;  //@ only check_j
        //@| const float scale = scales[Row];  //@ only not check_j
#pragma unroll
        for (int c = 0; c < TN; ++c) {
            sum[r][c] += scale * part[r][c];
            part[r][c] = 0;
        }
    }
};

