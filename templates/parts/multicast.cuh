// Blocks of one row of a cluster share tiles of M, those of one column tiles of N. A bit for each block that shares them with this one:
constexpr int CLUSTER_ROWS = 2;
constexpr int CLUSTER_COLS = 1;
__device__ __forceinline__ unsigned short m_sharers(int rank)
{
    return ((1 << CLUSTER_COLS) - 1) << rank / CLUSTER_COLS * CLUSTER_COLS;
}

__device__ __forceinline__ unsigned short n_sharers(int rank)
{
    return ((1 << CLUSTER) - 1) / ((1 << CLUSTER_COLS) - 1) << rank % CLUSTER_COLS;
}

// A lane arrives at the barrier that lies in the same place of the block of its number.
__device__ __forceinline__ void arrive_there(barrier_t &barrier)
{
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(&barrier)), "r"(threadIdx.x % 32) : "memory");
}

#include "parts/share_box.cuh"  //@ share_m
#include "parts/share_box.cuh"  //@ share_n  //@ with n for m, N for M
