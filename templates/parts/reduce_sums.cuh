if (element < j * l) {  //@ is_added for element < j * l
#pragma unroll 8
    for (int split = group; split < SPLITS; split += REDUCE_GROUPS)
        Pvalue += W[split * matrix + element];
}
