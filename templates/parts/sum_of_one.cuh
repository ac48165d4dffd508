sum_t &Pvalue = sum[r][c];
