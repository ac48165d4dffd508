const auto load_scales = [&](int phase) {
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const index_t Row = block_row + m_row + r / 2 * 64 + r % 2 * 8;
            const index_t kk = phase * BK + p * SCALE_K;  //@ first_k for phase  //@ part_k for p * SCALE_K
            //@ lines load_scale
        }
};
