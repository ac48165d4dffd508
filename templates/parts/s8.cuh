// A signed integer of 8 bits for storage.
struct s8 {
    signed char value;

    //@ if writes_s8
    s8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    //@ if whole
    __device__ explicit s8(long long sum)
    {
        value = static_cast<signed char>(min(max(sum, -128LL), 127LL));
    }
    //@ else
    //@| // It is rounded to nearest, ties to even. A NaN becomes 0.
    //@| __device__ explicit s8(float sum)
    //@| {
    //@|     value = static_cast<signed char>(min(max(__float2int_rn(sum), -128), 127));
    //@| }
    //@ end
    //@ end
    //@ if reads_s8 and widens_weights

    //@| // 2^23 + 128 + value has it as its last bits, so one subtraction converts it: four times as fast as the instruction that does.
    //@| __device__ operator float() const
    //@| {
    //@|     return __uint_as_float(0x4b000000u | (static_cast<unsigned char>(value) ^ 0x80u)) - 8388736.0f;
    //@| }
    //@ elif reads_s8

    __device__ operator int() const
    {
        return value;
    }
    //@ end
};

