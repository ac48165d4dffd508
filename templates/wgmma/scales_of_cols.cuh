float n_scale[TN];
#pragma unroll
for (int c = 0; c < TN; c += 2) {
    const auto pair = read<2>(&scales.N[first / PART][thread_col + c * 4]);
    n_scale[c] = pair.element[0];
    n_scale[c + 1] = pair.element[1];
}
