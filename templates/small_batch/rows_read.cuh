// Only the last VECTOR_ROWS may hang over the edge; they are read as those that are there, and not written.
const auto row_read = [&](int r) {
    return r < TM - VECTOR_ROWS || row_of(r) < j ? row_of(r) : j - VECTOR_ROWS;
};
