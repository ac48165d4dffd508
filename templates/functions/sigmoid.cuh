
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
