// at: where the lane's first two elements lie. The lanes of odd rows load those of the second product first: so no two meet in a bank.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int step = 0; step < 2; ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                             : "=f"(word[r][step][half].element[0]), "=f"(word[r][step][half].element[1])
                             : "r"((at ^ (step * 64 + half * 32)) + r * 8 * M_LINE)
                             : "memory");
}

