// The rows of M and P belong to GROUPS products, one after the other, and each of these has an N of its own: the rows of group g begin
// at offsets[g] and end before offsets[g + 1]. A tile of P has rows of one group, so that the last one of a group may be short.
//
// Whatever the offsets are, no row lies outside of M and P, and none belongs to two groups: an offset that is too small or too large
// counts as the first or the last that there can be, and one that is below an earlier one as that one.
constexpr int GROUPS = 8;
using offset_t = int;
struct offsets_t {  //@ only offsets_by_value
    offset_t row[GROUPS + 1];
};

__device__ __forceinline__ index_t row_at(const offset_t *offsets, int i, index_t all_rows)
{
    const offset_t row = offsets[i];
    return row < 0 ? 0 : row > all_rows ? all_rows : static_cast<index_t>(row);
}
