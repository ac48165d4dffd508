// j64 k48 l80 s8 N:u8 scale_m scale_n:each beta batch=3
//
//     P (64 x 80) = scale_m * M (64 x 48) . N (48 x 80) * scale_n + beta * C
//
// One thread computes one element of P. It reads a whole row of M and a whole column of N from
// global memory to do so: every element of M is read l times, every element of N j times.

// A signed integer of 8 bits for storage.
struct s8 {
    signed char value;

    s8() = default;

    // What is beyond the smallest or the largest number becomes that number.
    // It is rounded to nearest, ties to even. A NaN becomes 0.
    __device__ explicit s8(float sum)
    {
        value = static_cast<signed char>(min(max(__float2int_rn(sum), -128), 127));
    }

    __device__ operator int() const
    {
        return value;
    }
};

// An unsigned integer of 8 bits for storage.
struct u8 {
    unsigned char value;

    __device__ operator int() const
    {
        return value;
    }
};

using output_t = s8;
using sum_t = int;
using index_t = int;

constexpr index_t j = 64;
constexpr index_t k = 48;
constexpr index_t l = 80;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr index_t ld_c = l;
constexpr long long stride_m = 3072;
constexpr long long stride_n = 3840;
constexpr long long stride_p = 5120;
constexpr long long stride_c = 5120;
constexpr int TILE_WIDTH = 16;

// Launch: (TILE_WIDTH, TILE_WIDTH) threads in a block,
//         (ceil(l / TILE_WIDTH), ceil(j / TILE_WIDTH)) blocks in the grid.
//         blockIdx.z counts the products of the batch.
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
naive_s8_64x48x80(
    long long stride_scale_m,
    long long stride_scale_n,
    float beta,
    const float *__restrict__ scale_m,
    const float *__restrict__ scale_n,
    const s8 *__restrict__ M,
    const u8 *__restrict__ N,
    const output_t *C,  // may be P itself
    output_t *P)
{
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    // This block's tile of P begins here.
    const index_t block_row = blockIdx.y * TILE_WIDTH;
    const index_t block_col = blockIdx.x * TILE_WIDTH;

    // The element of P that this thread computes.
    const index_t Row = block_row + ty;
    const index_t Col = block_col + tx;

    // The product of the batch that this block works on.
    M += blockIdx.z * stride_m;
    N += blockIdx.z * stride_n;
    scale_m += blockIdx.z * stride_scale_m;
    scale_n += blockIdx.z * stride_scale_n;
    C += blockIdx.z * stride_c;
    P += blockIdx.z * stride_p;

    sum_t Pvalue = 0;
    for (index_t i = 0; i < k; ++i)
        Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];

    float total = Pvalue;
    total *= *scale_m;
    total *= scale_n[Col];
    if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
        total += beta * C[Row * ld_c + Col];
    P[Row * ld_p + Col] = static_cast<output_t>(total);
}
