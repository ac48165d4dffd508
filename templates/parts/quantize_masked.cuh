// Rows of a group's room that are not there belong to no product.
constexpr index_t ROOM = P_ROWS / GROUPS;
if (Row >= P_ROWS || Row % ROOM >= rows_of(counts, static_cast<int>(Row / ROOM), ROOM))  //@ offset_rows for counts
    return;
