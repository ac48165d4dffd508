// A warp has 32 x 32 elements of P, a thread 4 x 8 of them, in the places that it would have of tensor cores.
// Launch: 128 threads in a block, blocks of 64 x 64 elements of P.
extern "C" __global__ void __launch_bounds__(128)
plain(
    const int *paths,
    //@ instead operands
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    //@ end
    #include "planes/parameters.cuh"
{
    constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, TM = 4, TN = 8, THREADS = 128;
    __shared__ sum_t Mds[BK][BM + 1];
    __shared__ sum_t Nds[BK][BN + 1];
    #include "parts/awaits.cuh"
    if (paths[blockIdx.z] != PATH_F32)
        return;
    #include "parts/product.cuh"
    #include "parts/tile_y.cuh"  //@ which_tile
    #include "parts/begin.cuh"

    const index_t phases = (k + BK - 1) / BK;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int thread_row = warp / (BN / WN) * WM + lane / 4;
    const int thread_col = warp % (BN / WN) * WN + lane % 4 * 2;

    sum_t sum[TM][TN] = {};
    for (index_t phase = 0; phase < phases; ++phase) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            #include "planes/plain_along.cuh"  //@ plain_m
            Mds[kk][row] = block_row + row < j && phase * BK + kk < k ? M[at] : sum_t{0};
        }
        for (int i = threadIdx.x; i < BN * BK; i += THREADS) {
            #include "planes/plain_across.cuh"  //@ plain_n  //@ with n for m, col for row, BN for BM
            Nds[kk][col] = block_col + col < l && phase * BK + kk < k ? N[at] : sum_t{0};
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk)
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += Mds[kk][thread_row + r * 8] * Nds[kk][thread_col + c / 2 * 8 + c % 2];
        __syncthreads();
    }

    #include "parts/store.cuh"
}
