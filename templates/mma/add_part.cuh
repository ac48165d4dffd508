sum_t part[TM][TN] = {};  // of a part of k
//@| #include "mma/hold_m_sums.cuh"  //@ hold_sums
// add_part: the products of a part that is complete, times their scales, are added to the sums.  //@ only scales_parts
//@| // add_part: the products of a part that is complete, which tensor cores may add with 13 bits, are added to the sums in f32.  //@ only not scales_parts
const auto add_part = [&](int which) {
    #include "mma/give_scales.cuh"  //@ m_give_scales
    #include "mma/give_scales.cuh"  //@ n_give_scales  //@ with n for m, TN for TM, col for row, c for r
    //@| #include "mma/give_rests.cuh"  //@ m_give_rests
    //@| #include "mma/give_rests.cuh"  //@ n_give_rests  //@ with n for m, TN for TM, col for row, c for r
#pragma unroll
    for (int c = 0; c < TN; ++c)
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            sum[r][c] += row_scale[r] * col_scale[c] * part[r][c];  //@ part_scaled for row_scale[r] * col_scale[c] * part[r][c]
            part[r][c] = 0;
        }
    //@| #include "mma/forget_m_sums.cuh"  //@ forget_sums
};

