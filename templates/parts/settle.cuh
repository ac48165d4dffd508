// What is done with the sums on one side of this may not be moved to the other.
template <int ROWS>
__device__ __forceinline__ void settle(sum_t (&sum)[ROWS][TN])
{
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            asm volatile("" : "+f"(sum[r][c])::"memory");  //@ sum_constraint for "+f"
}

