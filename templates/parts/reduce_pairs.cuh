sum_t beside = 0;  // of the next column
if (element < j * (l / 2)) {
#pragma unroll 8
    for (int split = group; split < SPLITS; split += REDUCE_GROUPS) {
        Pvalue += W[split * matrix + 2 * element];
        beside += W[split * matrix + 2 * element + 1];
    }
}
partial_beside[group][place] = beside;
