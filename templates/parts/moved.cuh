// The descriptor of what begins so many bytes later.
__device__ __forceinline__ unsigned long long moved(unsigned long long descriptor, unsigned bytes)
{
    return descriptor + bytes / 16;
}

