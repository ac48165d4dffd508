// add_part: where the last phase of those that share a scale ends, their products times that scale are added to the sums.
const auto add_part = [&](index_t phase) {
    const float *const scales = &scale_n[phase * BK / SCALE_K * ld_scale_n];  //@ phase_k for phase * BK
#pragma unroll
    for (int c = 0; c < TN; ++c) {
        const index_t Col = block_col + thread_col + c;  //@ col_of for c
        const float scale = Col < l ? scales[Col] : 0;  //@ only check_l
        //@| const float scale = scales[Col];  //@ only not check_l
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            sum[r][c] += scale * part[r][c];
            part[r][c] = 0;
        }
    }
};

