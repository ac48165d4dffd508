
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): half of 1 + tanh(y) is the sigmoid of 2 * y.
__device__ __forceinline__ double gelu_tanh(double x)
{
    constexpr double a = 1.59576912160573077, b = 0.044715;
    return x * sigmoid(a * (x + b * x * x * x));
}
