// quantize: the sums of a thread become values of P. The four lanes that share a row find the largest magnitude of each SCALE_SUMS sums,
// which gives their scale, and divide their values by it.
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t tile_row = block_row + thread_row + r;  //@ row_of for r
    const index_t Row = min(tile_row, j - 1);  // what lies outside P takes the operands of its last row  //@ only check_j
    const index_t Row = tile_row;  //@ only not check_j
#pragma unroll
    for (int first = 0; first < TN; first += SCALE_SUMS / 4) {
        const index_t begin = block_col + first * 4, part = begin / SCALE_SUMS;  //@ first_sums for block_col
        unsigned int largest = 0;
#pragma unroll
        for (int c = first; c < first + SCALE_SUMS / 4; ++c) {  //@ next_col for ++c
            const index_t tile_col = block_col + thread_col + c;  //@ col_of for c
            const index_t Col = min(tile_col, l - 1);  //@ sums_of_value for 1  //@ only check_l
            const index_t Col = tile_col;  //@ only not check_l
            const bool inside = tile_row < j && tile_col < l;  //@ check_j && check_l  //@ only check_j or check_l
            #include "parts/sum_of_one.cuh"  //@ value_of_sums
            //@ lines quantized_sum
            //@ lines quantized_value
            largest = max(largest, inside ? magnitude(Pvalue) : 0u);  //@ only check_j or check_l
            largest = max(largest, magnitude(Pvalue));  //@ only not check_j and not check_l
        }
#pragma unroll
        for (int step = 1; step < 4; step *= 2)
            largest = max(largest, __shfl_xor_sync(~0u, largest, step));
        const float scale = scale_of(largest), inverse = 1 / scale;
        if (lane % 4 == 0 && tile_row < j && begin < l)  //@ && check_j && check_l
            scale_p[Row] = scale;  //@ scale_place for scale_p[Row]  //@ scale_value for scale
#pragma unroll
        for (int c = first; c < first + SCALE_SUMS / 4; ++c)  //@ next_col for ++c
            sum[r][c] *= inverse;
    }
}
