// A signed integer of 32 bits for storage.
struct s32 {
    int value;

    //@ if writes_s32
    s32() = default;

    // What is beyond the smallest or the largest number becomes that number.
    //@ if whole
    __device__ explicit s32(long long sum)
    {
        value = static_cast<int>(min(max(sum, -2147483648LL), 2147483647LL));
    }
    //@ else
    //@| // It is rounded to nearest, ties to even. A NaN becomes 0.
    //@| __device__ explicit s32(float sum)
    //@| {
    //@|     value = __float2int_rn(sum);
    //@| }
    //@ end
    //@ end
    //@ if reads_s32

    __device__ operator int() const
    {
        return value;
    }
    //@ end
};

