float row_scale[TM];
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r  //@ first_row for thread_row
    row_scale[r] = Row < j ? scale_m[Row] : 0.0f;  //@ m_scale_of for scale_m[Row]  //@ only clips_rows
    row_scale[r] = scale_m[Row];  //@ m_scale_of for scale_m[Row]  //@ only not clips_rows
}
