// Weights of 4 bits were repacked: number i of each 32 neighbours along k lies at place i % 8 * 4 + i / 8, of which even ones are lower halves.
__device__ __forceinline__ index_t place_of(index_t kk)
{
    return kk - kk % 32 + kk % 8 * 4 + kk % 32 / 8;
}
