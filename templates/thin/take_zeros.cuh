unsigned int less[TN / 8];  // makes weights of stored bits, less their zero point: twice
#pragma unroll
for (int c = 0; c < TN / 8; ++c)
    less[c] = both(-136 - n_zero_next[place][c]);  //@ without_zero for -136
