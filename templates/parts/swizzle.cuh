// Tiles in shared memory whose lines ldmatrix reads, 8 lines at once, 16 bytes of each. In plain order these would lie in the same
// banks. So the 16-byte chunks of a line change places, in another way for each of the 8 lines that are read together.
template <int CHUNKS>
__device__ __forceinline__ int swizzle(int line, int chunk, int reader)
{
    constexpr int LINES = CHUNKS < 8 ? 8 / CHUNKS : 1;  // those that fill the banks once
    return line * CHUNKS + (chunk ^ reader / LINES % (CHUNKS < 8 ? CHUNKS : 8));
}

