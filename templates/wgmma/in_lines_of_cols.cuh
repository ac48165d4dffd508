// Where a sum lies: the halves of every other pair of columns have changed places, so that lanes meet in few banks.
__device__ __forceinline__ sum_t &in_lines(sum_t (&lines)[SLICE][16], int row, int col)
{
    return lines[col][row ^ col / 2 % 2 * 8];
}

