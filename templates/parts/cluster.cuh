// Blocks of a cluster run at the same time, and reach each other's shared memory.
// Wait until all threads of the cluster are here.
__device__ __forceinline__ void meet_in_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

