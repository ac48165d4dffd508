// The rows of M and P belong to GROUPS products, one after the other, and each of these has an N of its own: the rows of group g begin
// at offsets[g] and end before offsets[g + 1]. A tile of P has rows of one group, so that the last one of a group may be short.
//
// Whatever the offsets are, no row lies outside of M and P, and none belongs to two groups: an offset that is too small or too large
// counts as the first or the last that there can be, and one that is below an earlier one as that one.
constexpr int GROUPS = 8;  //@ groups
using offset_t = int;  //@ offset_t
//@ if offsets_by_value
//@| struct offsets_t {
//@|     offset_t row[GROUPS + 1];
//@| };
//@ end

// A group, its rows, how many rows of tiles it has, and how many all groups in front of it.
struct group_t {
    int number;
    index_t begin, end;
    int tiles, before;
};

__device__ __forceinline__ index_t row_at(const offset_t *offsets, int i, index_t all_rows)
{
    const offset_t row = offsets[i];
    return row < 0 ? 0 : row > all_rows ? all_rows : static_cast<index_t>(row);
}

//@ if groups_by_warp
// The lanes of a warp look at 32 groups at once. from: where the first of these begins, and then where the last one ends.
__device__ __forceinline__ void look_at(const offset_t *offsets, index_t all_rows, int group, index_t &from, index_t &begin, index_t &end)
{
    end = max(from, row_at(offsets, min(group + 1, GROUPS), all_rows));
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        end = max(end, __shfl_up_sync(0xffffffff, end, step));
    begin = __shfl_up_sync(0xffffffff, end, 1);
    if (threadIdx.x % 32 == 0)
        begin = from;
    from = __shfl_sync(0xffffffff, end, 31);
}

// Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
__device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
{
    const int lane = threadIdx.x % 32;
    index_t from = row_at(offsets, 0, all_rows);
    int before = 0;  // in groups that were looked at
    for (int group = lane; group - lane < GROUPS; group += 32) {
        index_t begin, end;
        look_at(offsets, all_rows, group, from, begin, end);
        const int tiles = (end - begin + height - 1) / height;
        int up_to = tiles;  // those of the groups up to this one
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const int lower = __shfl_up_sync(0xffffffff, up_to, step);
            if (lane >= step)
                up_to += lower;
        }
        up_to += before;
        const unsigned further = __ballot_sync(0xffffffff, row < up_to);
        if (further != 0) {
            const int owner = __ffs(further) - 1;
            found.number = __shfl_sync(0xffffffff, group, owner);
            found.begin = __shfl_sync(0xffffffff, begin, owner);
            found.end = __shfl_sync(0xffffffff, end, owner);
            found.tiles = __shfl_sync(0xffffffff, tiles, owner);
            found.before = __shfl_sync(0xffffffff, up_to - tiles, owner);
            return true;
        }
        before = __shfl_sync(0xffffffff, up_to, 31);
    }
    return false;
}
//@ else
//@| // Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
//@| __device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
//@| {
//@|     index_t begin = row_at(offsets, 0, all_rows);
//@|     int before = 0;
//@|     for (int group = 0; group < GROUPS; ++group) {
//@|         const index_t end = max(begin, row_at(offsets, group + 1, all_rows));
//@|         const int tiles = (end - begin + height - 1) / height;
//@|         if (row < before + tiles) {
//@|             found = {group, begin, end, tiles, before};
//@|             return true;
//@|         }
//@|         before += tiles;
//@|         begin = end;
//@|     }
//@|     return false;
//@| }
//@ end
//@ if walks
//@|
//@| // How many rows of tiles there are.
//@| __device__ __forceinline__ int count_tiles(const offset_t *offsets, index_t all_rows, int height)
//@| {
//@|     index_t from = row_at(offsets, 0, all_rows);
//@|     int tiles = 0;
//@|     for (int group = threadIdx.x % 32; group - static_cast<int>(threadIdx.x) % 32 < GROUPS; group += 32) {
//@|         index_t begin, end;
//@|         look_at(offsets, all_rows, group, from, begin, end);
//@|         tiles += (end - begin + height - 1) / height;
//@|     }
//@|     for (int step = 16; step > 0; step /= 2)
//@|         tiles += __shfl_xor_sync(0xffffffff, tiles, step);
//@|     return tiles;
//@| }
//@ end

