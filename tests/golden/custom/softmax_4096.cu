// Softmax of each row. THREADS threads share a row and keep its elements in registers, so N is read once and P written
// once; a block has ROWS rows. Sums and maxima of a row go through the lanes of a warp by shuffles.

constexpr int COLS = 4096;
constexpr int THREADS = 128;
constexpr int ROWS = 1;
constexpr int PER_THREAD = (COLS + THREADS - 1) / THREADS;

struct largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

// Combine one number of each thread of a row; all of them get the result.
template <typename Combine>
__device__ float reduce(float mine, Combine combine)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine = combine(mine, __shfl_xor_sync(0xffffffff, mine, lanes));

    // The warps of a row meet in shared memory.
    __shared__ float of_warp[ROWS][THREADS / 32];
    __syncthreads();  // what was there is not wanted any more
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.y][threadIdx.x / 32] = mine;
    __syncthreads();
    mine = of_warp[threadIdx.y][0];
    for (int warp = 1; warp < THREADS / 32; ++warp)
        mine = combine(mine, of_warp[threadIdx.y][warp]);

    return mine;
}

extern "C" __global__ void __launch_bounds__(THREADS * ROWS)
softmax_4096(
    const float *__restrict__ N,
    float *__restrict__ P,
    int rows,
    float scale)
{
    const int row = blockIdx.x * ROWS + threadIdx.y;
    const bool has_row = row < rows;  // the threads of the others go along: they are waited for
    const long long first = (long long)row * COLS;
    float element[PER_THREAD];

    float most = -__int_as_float(0x7f800000);  // minus infinity
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const int col = i * THREADS + threadIdx.x;
        const bool is_inside = has_row;
        element[i] = is_inside ? scale * N[first + col] : -__int_as_float(0x7f800000);
        most = fmaxf(most, element[i]);
    }
    most = reduce(most, largest());

    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        element[i] = expf(element[i] - most);
        total += element[i];
    }
    total = reduce(total, sum());

    const float share = 1.0f / total;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const int col = i * THREADS + threadIdx.x;
        if (has_row)
            P[first + col] = element[i] * share;
    }
}
