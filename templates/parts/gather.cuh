// Row r of the product is made of row m_index[r] of M. Negative: of none, because there is no row r, or no such row of M: its elements
// count as zeros, and are not read.
__device__ __forceinline__ int gathered(const int *m_index, index_t row, index_t rows, int m_rows)
{
    const int from = row < rows ? m_index[row] : -1;
    return from < m_rows ? from : -1;
}

// The scale of the row of M that a row of the product is made of.
__device__ __forceinline__ float gathered_scale(const float *scale_m, const int *m_index, index_t row, int m_rows)  //@ m_scale_t for const float
{
    const int from = gathered(m_index, row, row + 1, m_rows);
    return from < 0 ? 0 : static_cast<float>(scale_m[from]);
}

