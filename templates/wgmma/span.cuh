// The elements of k of a tile's group, and the phases of which the first begins at element `first`. Copies begin at multiples of 16 bytes,
// so the group may begin later. A tile that is not there has no phases.
struct span_t {
    index_t first, begin, end;
    int phases;
};
const auto span_of = [&](int tile) {
    constexpr int CHUNK = 16 / sizeof(input_t);  //@ m_t for input_t
    const int group = min(tile / (rows * cols), GROUPS), next = min(group + 1, GROUPS);
    const index_t begin = k_at(offsets, group, all_k);  //@ offset_rows for offsets
    const index_t end = k_at(offsets, next, all_k);     //@ offset_rows for offsets
    const index_t first = begin / CHUNK * CHUNK;
    return span_t{first, begin, end, begin < end ? static_cast<int>((end - first + BK - 1) / BK) : 0};
};
