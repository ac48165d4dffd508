
__device__ __forceinline__ double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
