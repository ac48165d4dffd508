//@ if uses_sigmoid

//@ if real_f64
//@| __device__ __forceinline__ double sigmoid(double x)
//@| {
//@|     return 1 / (1 + exp(-x));
//@| }
//@ else
// 1 / (1 + 2^x): of x = -y * log2(e) the sigmoid of y. Four instructions, where expf and a division take three times as many.
__device__ __forceinline__ float sigmoid_of_power(float x)
{
    float power, value;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(1 + power));
    return value;
}

__device__ __forceinline__ float sigmoid(float x)
{
    return sigmoid_of_power(x * -1.44269504088896341f);
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

//@ if device_tanh
//@| // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), by the device's tanh: its 11 bits are enough for what P holds.
//@ else
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): half of 1 + tanh(y) is the sigmoid of 2 * y.
//@ end
__device__ __forceinline__ float gelu_tanh(float x)  //@ real_t for float  //@ real_t for float
{
    //@ if real_f64
    //@| constexpr double a = 1.59576912160573077, b = 0.044715;
    //@| return x * sigmoid(a * (x + b * x * x * x));
    //@ elif device_tanh
    //@| constexpr float a = 0.79788456080286536, b = 0.044715 * a;
    //@| const float half = x / 2;
    //@| float value;
    //@| asm("tanh.approx.f32 %0, %1;" : "=f"(value) : "f"(x * (a + b * (x * x))));
    //@| return half * value + half;
    //@ else
    constexpr float a = -1.59576912160573077 * 1.44269504088896341, b = 0.044715 * a;
    return x * sigmoid_of_power(x * (a + b * (x * x)));
    //@ end
}
//@ end
//@ if uses_silu

__device__ __forceinline__ float silu(float x)  //@ real_t for float  //@ real_t for float
{
    return x * sigmoid(x);
}
//@ end

