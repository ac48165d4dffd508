// What all warps have of an element of the block: it is in one share, which one lane has.
const auto total_of = [&](int row, int col) {
    const int place = row / ROW_LANES * TN + col % TN;
    const int owner = (col / TN * ROW_LANES + row % ROW_LANES) * K_LANES + place / SHARE;
    sum_t total = sum_of(0, place % SHARE, owner);
#pragma unroll
    for (int other = 1; other < WARPS; ++other)
        total += sum_of(other, place % SHARE, owner);
    return total;
};
