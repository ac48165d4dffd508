// Where an element lies in a box, whose lines are columns of 16 rows: its 16-byte chunk has changed places with others of 128 bytes, so
// that lanes meet in few banks.
__device__ __forceinline__ output_t &in_box(output_t *box, int row, int col)
{
    constexpr int CHUNKS = sizeof(output_t);  // of a column
    const int at = (col * 16 + row) * sizeof(output_t);
    return box[(at ^ at / 128 % CHUNKS * 16) / sizeof(output_t)];
}

