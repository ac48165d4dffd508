// Rows before the first group and after the last one belong to no product.
index_t last = 0;
for (int i = thread % 32; i <= GROUPS; i += 32)
    last = max(last, row_at(offsets, i, P_ROWS));  //@ offset_rows for offsets
for (int step = 1; step < 32; step *= 2)
    last = max(last, __shfl_xor_sync(~0u, last, step));
