// 2-D convolution. A block brings a tile of N, with the halo of RADIUS elements around it, to shared memory and computes
// the tile of P below it; a thread computes ROWS elements, one under the other. The filter is in constant memory: all
// threads of a warp want the same element of it at the same time, which is what constant memory is made for.

constexpr int HEIGHT = 4096;
constexpr int WIDTH = 4096;
constexpr int RADIUS = 2;
constexpr int TILE_WIDTH = 32;
constexpr int BLOCK_HEIGHT = 8;
constexpr int ROWS = 1;

constexpr int TILE_HEIGHT = BLOCK_HEIGHT * ROWS;
constexpr int FILTER_WIDTH = 2 * RADIUS + 1;

__constant__ float F[FILTER_WIDTH][FILTER_WIDTH];

extern "C" __global__ void __launch_bounds__(TILE_WIDTH * BLOCK_HEIGHT)
convolution_4096x4096x2(
    const float *__restrict__ N,
    float *__restrict__ P)
{
    __shared__ float Nds[TILE_HEIGHT + 2 * RADIUS][TILE_WIDTH + 2 * RADIUS];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int tile_row = blockIdx.y * TILE_HEIGHT, tile_col = blockIdx.x * TILE_WIDTH;

    // The tile and its halo, as many elements at a time as the block has threads.
    for (int y = ty; y < TILE_HEIGHT + 2 * RADIUS; y += BLOCK_HEIGHT) {
        for (int x = tx; x < TILE_WIDTH + 2 * RADIUS; x += TILE_WIDTH) {
            const int row = tile_row + y - RADIUS, col = tile_col + x - RADIUS;
            const bool is_inside = row >= 0 && row < HEIGHT && col >= 0 && col < WIDTH;
            Nds[y][x] = is_inside ? N[row * WIDTH + col] : 0.0f;
        }
    }
    __syncthreads();

    float sum[ROWS] = {};
#pragma unroll
    for (int dx = 0; dx < FILTER_WIDTH; ++dx) {
        // Neighbouring rows of P share all but one element of N, so these are read once.
        float column[ROWS + 2 * RADIUS];
#pragma unroll
        for (int y = 0; y < ROWS + 2 * RADIUS; ++y)
            column[y] = Nds[ty * ROWS + y][tx + dx];
#pragma unroll
        for (int dy = 0; dy < FILTER_WIDTH; ++dy)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                sum[r] += F[dy][dx] * column[r + dy];
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = tile_row + ty * ROWS + r, col = tile_col + tx;
        P[row * WIDTH + col] = sum[r];
    }
}
