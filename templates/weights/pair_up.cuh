__device__ __forceinline__ unsigned int pair_up(const vector_t<unsigned int, 4> &run, int pair)
{
    const int first = pair / 2 * (4 / NEIGHBOURS), second = first + NEIGHBOURS / 2;
    return __byte_perm(run.element[first], run.element[second], pair % 2 == 0 ? 0x5410 : 0x7632);
}

// The 16-byte chunks of a line change places, in another way for each of the lines that are read together: up to 8, of which neighbours
// are read first.
__device__ __forceinline__ int reader_of(int line)
{
    return line % 2 * 4 + line / 2 % 2 * 2 + line / 4 % 2;
}

