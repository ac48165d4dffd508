sum_t n_sum[2][TN] = {};  // of the elements of N that are multiplied in a part, column by column, in every row the same
