sum_t m_sum[TM][2] = {};  // of the elements of M that are multiplied in a part, row by row, in every column the same
