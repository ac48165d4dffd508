
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): half of 1 + tanh(y) is the sigmoid of 2 * y.
__device__ __forceinline__ float gelu_tanh(float x)
{
    constexpr float a = -1.59576912160573077 * 1.44269504088896341, b = 0.044715 * a;
    return x * sigmoid_of_power(x * (a + b * (x * x)));
}
