// Copies from global to shared memory past the registers (sm_80 and newer): a thread starts them, commits them as one group,
// and goes on; it waits for a group before it reads what the group brought.

#include "parts/async_copies.cuh"
__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;");
}

// Until at most this many groups, the latest ones, are still under way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS));
}

