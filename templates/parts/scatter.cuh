// Row r of the product is stored to row p_index[r] of P. Negative: it is not stored, because P has no such row.
__device__ __forceinline__ int scattered(const int *p_index, index_t row, int p_rows)
{
    const int to = p_index[row];
    return to < p_rows ? to : -1;
}

