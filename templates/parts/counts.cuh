// The rows of M and P belong to GROUPS products, each of which has an N of its own and room for as many rows: those of group g begin at
// g * (all_rows / GROUPS), and the first counts[g] of them are there. A tile of P has rows of one group, so that the last one of a
// group may be short.
//
// Whatever the counts are, no row lies outside of its group's room: a count that is too small or too large counts as the first or the
// last that there can be.
constexpr int GROUPS = 8;
using count_t = int;
struct counts_t {  //@ only offsets_by_value
    count_t of[GROUPS];
};

__device__ __forceinline__ index_t rows_of(const count_t *counts, int group, index_t room)
{
    const count_t count = counts[group];
    return count < 0 ? 0 : count > room ? room : static_cast<index_t>(count);
}
