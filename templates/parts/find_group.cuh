// Finds the group whose tiles have row number `row` of all rows of tiles. False: there are fewer than that.
__device__ __forceinline__ bool find_group(const offset_t *offsets, index_t all_rows, int height, int row, group_t &found)
{
    index_t begin = row_at(offsets, 0, all_rows);  //@ only not masked
    int before = 0;
    for (int group = 0; group < GROUPS; ++group) {
        //@ if masked
        //@| const index_t room = all_rows / GROUPS, begin = group * room, end = begin + rows_of(offsets, group, room);
        //@ else
        const index_t end = max(begin, row_at(offsets, group + 1, all_rows));
        //@ end
        const int tiles = (end - begin + height - 1) / height;
        if (row < before + tiles) {
            found = {group, begin, end, tiles, before};
            return true;
        }
        before += tiles;
        begin = end;  //@ only not masked
    }
    return false;
}
