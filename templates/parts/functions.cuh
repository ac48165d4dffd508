//@ if uses_sigmoid

//@ if real_f64
//@| __device__ __forceinline__ double sigmoid(double x)
//@| {
//@|     return 1 / (1 + exp(-x));
//@| }
//@ else
__device__ __forceinline__ float sigmoid(float x)
{
    return __fdividef(1, 1 + expf(-x));
}
//@ end
//@ end
//@ if uses_relu

// A NaN stays a NaN.
__device__ __forceinline__ float relu(float x)  //@ real_t for float  //@ real_t for float
{
    return x < 0 ? 0 : x;
}
//@ end
//@ if uses_gelu

// x times the share of a normal distribution that lies below x.
__device__ __forceinline__ float gelu(float x)  //@ real_t for float  //@ real_t for float
{
    constexpr float half_root = 0.70710678118654752;  //@ real_t for float
    return x / 2 * (1 + erff(x * half_root));  //@ erf for erff
}
//@ end
//@ if uses_gelu_tanh

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): half of 1 + tanh(y) is the sigmoid of 2 * y.
__device__ __forceinline__ float gelu_tanh(float x)  //@ real_t for float  //@ real_t for float
{
    constexpr float a = 1.59576912160573077, b = 0.044715;  //@ real_t for float
    return x * sigmoid(a * (x + b * x * x * x));
}
//@ end
//@ if uses_silu

__device__ __forceinline__ float silu(float x)  //@ real_t for float  //@ real_t for float
{
    return x * sigmoid(x);
}
//@ end

