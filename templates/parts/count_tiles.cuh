
// How many rows of tiles there are.
__device__ __forceinline__ int count_tiles(const offset_t *offsets, index_t all_rows, int height)
{
    index_t from = row_at(offsets, 0, all_rows);  //@ only not masked
    int tiles = 0;
    for (int group = threadIdx.x % 32; group - static_cast<int>(threadIdx.x) % 32 < GROUPS; group += 32) {
        index_t begin, end;
        look_at(offsets, all_rows, group, from, begin, end);  //@ , , , not masked, ,
        tiles += (end - begin + height - 1) / height;
    }
    for (int step = 16; step > 0; step /= 2)
        tiles += __shfl_xor_sync(0xffffffff, tiles, step);
    return tiles;
}
