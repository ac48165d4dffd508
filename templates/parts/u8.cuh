// An unsigned integer of 8 bits for storage.
struct u8 {
    unsigned char value;

    //@ if self_written
    u8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    __device__ explicit u8(long long sum)  //@ only whole
    {
        value = static_cast<unsigned char>(min(max(sum, 0LL), 255LL));
    }
    // It is rounded to nearest, ties to even. A NaN becomes 0.  //@ only not whole
    __device__ explicit u8(float sum)  //@ only not whole
    {
        value = static_cast<unsigned char>(min(max(__float2int_rn(sum), 0), 255));
    }
    //@ end
    //@ if self_read

    // 2^23 + value has it as its last bits, so one subtraction converts it: four times as fast as the instruction that does.  //@ only widens_weights
    __device__ operator float() const  //@ only widens_weights
    {
        return __uint_as_float(0x4b000000u | value) - 8388608.0f;
    }
    __device__ operator int() const  //@ only not widens_weights
    {
        return value;
    }
    //@ end
};

