// Elements of one byte that are neighbours across k. A unit of 2 bytes holds two neighbours of one step of k, so the lines are
// taken in such an order that a lane receives two neighbours at 4 successive steps, from two matrices: to[0] becomes the first
// neighbour's 4 steps, to[1] the second's. lane 4 g + t has neighbours 2 g and 2 g + 1, and to[2], to[3] are 16 steps further.
__device__ __forceinline__ int line_of_bytes(int lane)
{
    return lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2;
}

__device__ __forceinline__ void load_bytes(fragment_t (&to)[4], const void *line)
{
    fragment_t pairs[4];
    load_transposed(pairs, line);
    to[0] = __byte_perm(pairs[0], pairs[1], 0x6420);
    to[1] = __byte_perm(pairs[0], pairs[1], 0x7531);
    to[2] = __byte_perm(pairs[2], pairs[3], 0x6420);
    to[3] = __byte_perm(pairs[2], pairs[3], 0x7531);
}

