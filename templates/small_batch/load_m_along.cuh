#pragma unroll
for (int r = 0; r < TM; ++r) {
    const auto along_k = read<VEC>(&own.M[row_read(r)][kk]);
#pragma unroll
    for (int i = 0; i < VEC; ++i)
        m[r][i] = along_k.element[i];
}
