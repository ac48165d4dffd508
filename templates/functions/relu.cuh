
// A NaN stays a NaN.
__device__ __forceinline__ float relu(float x)  //@ real_t for float  //@ real_t for float
{
    return x < 0 ? 0 : x;
}
