// A signed integer of 32 bits for storage.
struct s32 {
    int value;

    //@ if self_written
    s32() = default;

    // What is beyond the smallest or the largest number becomes that number.
    __device__ explicit s32(long long sum)  //@ only whole
    {
        value = static_cast<int>(min(max(sum, -2147483648LL), 2147483647LL));
    }
    // It is rounded to nearest, ties to even. A NaN becomes 0.  //@ only not whole
    __device__ explicit s32(float sum)  //@ only not whole
    {
        value = __float2int_rn(sum);
    }
    //@ end
    //@ if self_read

    __device__ operator int() const
    {
        return value;
    }
    //@ end
};

