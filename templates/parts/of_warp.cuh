// Broadcast a warp-uniform value from lane 0, so that the compiler computes descriptors once for the warp, not in each thread.
__device__ __forceinline__ int of_warp(int value)
{
    return __shfl_sync(0xffffffff, value, 0);
}

