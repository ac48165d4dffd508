// A signed integer of 8 bits for storage.
struct s8 {
    signed char value;

    //@ if self_written
    s8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    __device__ explicit s8(long long sum)  //@ only whole
    {
        value = static_cast<signed char>(min(max(sum, -128LL), 127LL));
    }
    // It is rounded to nearest, ties to even. A NaN becomes 0.  //@ only not whole
    __device__ explicit s8(float sum)  //@ only not whole
    {
        value = static_cast<signed char>(min(max(__float2int_rn(sum), -128), 127));
    }
    //@ end
    //@ if self_read

    // 2^23 + 128 + value has it as its last bits, so one subtraction converts it: four times as fast as the instruction that does.  //@ only widens_weights
    __device__ operator float() const  //@ only widens_weights
    {
        return __uint_as_float(0x4b000000u | (static_cast<unsigned char>(value) ^ 0x80u)) - 8388736.0f;
    }
    __device__ operator int() const  //@ only not widens_weights
    {
        return value;
    }
    //@ end
};

