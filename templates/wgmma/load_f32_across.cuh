// at: where the lane's first element lies. A line holds 32 rows of one k, whose chunks of four change places with k: so no two lanes meet
// in a bank.
__device__ __forceinline__ void load_words(words_t &word, unsigned at)
{
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int step = 0; step < 2; ++step)
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    asm volatile("ld.shared.f32 %0, [%1];"
                                 : "=f"(word[r][step][half].element[i])
                                 : "r"((at ^ (r * 32 + i * 16)) + (step * 16 + half * 8 + i) * M_LINE)
                                 : "memory");
}

