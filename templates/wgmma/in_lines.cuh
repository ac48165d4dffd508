// Where a sum lies: groups of 8 have changed places, so that lanes meet in no bank.
__device__ __forceinline__ sum_t &in_lines(sum_t (&lines)[16][SLICE], int row, int col)
{
    return lines[row][col ^ row % (SLICE / 8) * 8];
}

