
// x times the share of a normal distribution that lies below x.
__device__ __forceinline__ float gelu(float x)  //@ real_t for float  //@ real_t for float
{
    constexpr float half_root = 0.70710678118654752;  //@ real_t for float
    return x / 2 * (1 + erff(x * half_root));  //@ erf for erff
}
