sum_t beside = __shfl_xor_sync(~0u, Pvalue, 1);  // the sum of the next column, which the next thread has  //@ total_t for sum_t
if (Col % 2 != 0)
    return;  // the thread before this one stores the pair
