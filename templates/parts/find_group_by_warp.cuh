//@ if masked
//@| // The lanes of a warp look at 32 groups at once.
//@| __device__ __forceinline__ void look_at(const offset_t *offsets, index_t all_rows, int group, index_t &begin, index_t &end)
//@| {
//@|     const index_t room = all_rows / GROUPS;
//@|     begin = min(group, GROUPS) * room;
//@|     end = begin + (group < GROUPS ? rows_of(offsets, group, room) : 0);
//@| }
//@ else
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
//@ end

// Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
__device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
{
    const int lane = threadIdx.x % 32;
    index_t from = row_at(offsets, 0, all_rows);  //@ only not masked
    int before = 0;  // in groups that were looked at
    for (int group = lane; group - lane < GROUPS; group += 32) {
        index_t begin, end;
        look_at(offsets, all_rows, group, from, begin, end);  //@ , , , not masked, ,
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
