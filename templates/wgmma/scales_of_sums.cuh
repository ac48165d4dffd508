// Sums of a part are multiplied by the scales of this thread's rows. As soon as those are used, the same of the next phase are loaded.
float scale[PARTS][TM];  //@ sum_scale_t for float
//@ lines scales_of_first_row
const auto load_scale = [&](int phase, int p, int row) {
#pragma unroll
    for (int r = row; r < row + 2; ++r) {
        const index_t Row = block_row + m_row + r / 2 * 64 + r % 2 * 8;  //@ only scale_row
        const index_t kk = phase * BK + p * SCALE_K;  //@ first_k for phase  //@ part_k for p * SCALE_K
        //@ lines load_scale_of_sum
    }
};
if (phases > 0)
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
        for (int row = 0; row < TM; row += 2)
            load_scale(0, p, row);  //@ first_phase for 0
