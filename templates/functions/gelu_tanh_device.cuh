
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), by the device's tanh: its 11 bits are enough for what P holds.
__device__ __forceinline__ float gelu_tanh(float x)
{
    constexpr float a = 0.79788456080286536, b = 0.044715 * a;
    const float half = x / 2;
    float value;
    asm("tanh.approx.f32 %0, %1;" : "=f"(value) : "f"(x * (a + b * (x * x))));
    return half * value + half;
}
