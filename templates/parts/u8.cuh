// An unsigned integer of 8 bits for storage. What is beyond its largest or smallest number becomes that number.
struct u8 {
    unsigned char value;

    //@ if writes_u8
    u8() = default;

    //@ if whole
    __device__ explicit u8(long long sum)
    {
        value = static_cast<unsigned char>(min(max(sum, 0LL), 255LL));
    }
    //@ else
    //@| // Round to nearest, ties to even. A NaN becomes 0.
    //@| __device__ explicit u8(float sum)
    //@| {
    //@|     value = static_cast<unsigned char>(min(max(__float2int_rn(sum), 0), 255));
    //@| }
    //@ end
    //@ end
    //@ if reads_u8

    __device__ operator int() const
    {
        return value;
    }
    //@ end
};

