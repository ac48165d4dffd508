// An unsigned integer of 8 bits for storage.
struct u8 {
    unsigned char value;

    //@ if writes_u8
    u8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    //@ if whole
    __device__ explicit u8(long long sum)
    {
        value = static_cast<unsigned char>(min(max(sum, 0LL), 255LL));
    }
    //@ else
    //@| // It is rounded to nearest, ties to even. A NaN becomes 0.
    //@| __device__ explicit u8(float sum)
    //@| {
    //@|     value = static_cast<unsigned char>(min(max(__float2int_rn(sum), 0), 255));
    //@| }
    //@ end
    //@ end
    //@ if reads_u8 and widens_weights

    //@| // 2^23 + value has it as its last bits, so one subtraction converts it: four times as fast as the instruction that does.
    //@| __device__ operator float() const
    //@| {
    //@|     return __uint_as_float(0x4b000000u | value) - 8388608.0f;
    //@| }
    //@ elif reads_u8

    __device__ operator int() const
    {
        return value;
    }
    //@ end
};

