__device__ __forceinline__ unsigned int pair_up(const vector_t<unsigned int, 4> &run, int pair)
{
    const int first = pair / 2 * (4 / NEIGHBOURS), second = first + NEIGHBOURS / 2;
    return __byte_perm(run.element[first], run.element[second], pair % 2 == 0 ? 0x5410 : 0x7632);
}

#include "weights/reader.cuh"
