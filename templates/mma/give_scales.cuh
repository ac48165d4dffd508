float row_scale[TM];
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const int row = r;  //@ row_of for r
    row_scale[r] = __shfl_sync(0xffffffffu, m_scale[which][row / 32], thread_row + row);
}
