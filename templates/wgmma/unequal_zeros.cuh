// Zeros that the compiler cannot tell to be equal, since stage is never negative: ptxas adds one part to the sums of all rows that were
// equal before, although each has a part of its own (docs/compilers.md).
#pragma unroll
for (int r = 0; r < TM; ++r)
#pragma unroll
    for (int c = 0; c < TN; ++c)
        sum[r][c] = stage < -r;
