#pragma unroll
for (int i = 0; i < VEC; ++i)
#pragma unroll
    for (int c = 0; c < TN; c += VECTOR_COLS) {
        const auto cols = read<VECTOR_COLS>(&own.N[kk + i][col_read(c)]);
#pragma unroll
        for (int v = 0; v < VECTOR_COLS; ++v)
            n[i][c + v] = cols.element[v];
    }
