
__device__ __forceinline__ float silu(float x)  //@ real_t for float  //@ real_t for float
{
    return x * sigmoid(x);
}
