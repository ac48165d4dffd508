// The 16-byte chunks of a line change places, in another way for each of the lines that are read together: up to 8, of which neighbours
// are read first.
__device__ __forceinline__ int reader_of(int line)
{
    return line % 2 * 4 + line / 2 % 2 * 2 + line / 4 % 2;
}

