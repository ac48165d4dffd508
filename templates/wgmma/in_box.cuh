// Where an element lies in a box: its 16-byte chunk has changed places with others of 128 bytes, so that lanes meet in no bank.
__device__ __forceinline__ output_t &in_box(output_t *box, int row, int col)
{
    constexpr int CHUNKS = SLICE * sizeof(output_t) / 16;  // of a row  //@ box_cols for SLICE
    const int at = (row * SLICE + col) * sizeof(output_t);  //@ box_cols for SLICE
    return box[(at ^ at / 128 % CHUNKS * 16) / sizeof(output_t)];
}

