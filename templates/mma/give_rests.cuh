float row_rest[TM];
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const int row = r;  //@ row_of for r
    row_rest[r] = __shfl_sync(0xffffffffu, m_rest[which][row / 32], thread_row + row);
}
