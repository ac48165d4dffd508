sum_t &Pvalue = sum[r][c];
sum_t &beside = sum[r][c + 1];  // of the next column
