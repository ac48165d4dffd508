//@| #include "parts/transpose_bytes.cuh"  //@ bytes_of_quads
// Word w of lane l, of four neighbours, becomes word l of lane w.
__device__ __forceinline__ void transpose_words(unsigned int (&word)[4])
{
#pragma unroll
    for (int step = 1; step < 4; step *= 2)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int low = step == 1 ? 2 * i : i, high = low + step;
            const bool is_high = (threadIdx.x & step) != 0;
            const unsigned int passed = __shfl_xor_sync(~0u, is_high ? word[low] : word[high], step);
            word[low] = is_high ? passed : word[low];
            word[high] = is_high ? word[high] : passed;
        }
}

