// P is a strip of few columns. Its time is that of reading M once, which the copy engine does best: one warp of a block has it bring
// boxes of M and N, a phase of PHASE elements of k after the other, into a ring of STAGES. The other WARPS multiply them. Two
// barriers for each place of the ring keep them together:
//
//                 brings                            multiplies
//        wait      empty: all have multiplied        full: the boxes are there
//                  what was there before
//        do        copy the boxes of a phase         multiply them
//        arrive    full, with the last byte          empty
//
//                      COLS                    Each warp has its own part of a phase. Its lanes stand K_LANES along k, ROW_LANES
//                    +------+                  along the rows of P and COL_LANES along its columns:
//         N   PHASE  |      |
//                    +------+                      lane = (col_lane * ROW_LANES + row_lane) * K_LANES + k_lane
//             PHASE  |      |
//    M               +------+                  Each reads VECTOR steps of k at once, 16 bytes, for TM rows ROW_LANES apart and
//  PHASE  PHASE         :                      TN neighbouring columns. In the end the lanes along k fold their sums by
// +------+------+    +------+                  shuffles, and the block adds up those of its warps.
// |      |      | .. |      | BLOCK_ROWS
// +------+------+    +------+

#include "parts/card.cuh"
#include "strip/lanes.cuh"
constexpr int LINE = 8;  // chunks of 128 bytes, as many as the engine swizzles
constexpr int BOXES = (COLS + LINE - 1) / LINE;  // of N

#include "parts/vector.cuh"
#include "parts/barrier.cuh"
#include "parts/tensor.cuh"
using chunk_t = vector_t<input_t, VECTOR>;

// What one phase needs. The lanes along k read 128 neighbouring bytes of a row of M, so rows may begin at the same bank. The rows of N
// follow each other without a gap, so that VECTOR of them are one line of COLS chunks, which comes in as many boxes as it has 128 bytes.
struct __align__(1024) phase_t {
    chunk_t N[BOXES][CHUNKS][LINE];
    chunk_t M[BLOCK_ROWS][CHUNKS];
};
struct shared_t {
    phase_t phase[STAGES];
    barrier_t full[STAGES];   // its boxes have come
    barrier_t empty[STAGES];  // nobody needs them any more
    sum_t sum[WARPS][SHARE][WARP + 1];  // of each warp in the end; + 1: a lane's sums lie in different banks
};

__device__ __forceinline__ chunk_t m_of(const phase_t &tile, int r, int row_lane, int chunk)
{
    return tile.M[r * ROW_LANES + row_lane][chunk];
}

// In each of eight lines the engine has put a chunk elsewhere: the lanes along k, which read it at once, meet in no bank.
__device__ __forceinline__ chunk_t n_of(const phase_t &tile, int line, int chunk)
{
    return tile.N[chunk / LINE][line][chunk % LINE ^ line % LINE];
}

// The kernel reads its tensor maps soon.
__device__ __forceinline__ void fetch_map(const tensor_map_t &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#include "strip/fold.cuh"

// Launch: THREADS threads in a block, sizeof(shared_t) bytes of dynamic shared memory,
//         (1, ceil(j / BLOCK_ROWS)) blocks in the grid.  //@ blocks_on_x for 1  //@ blocks_on_y for ceil(j / BLOCK_ROWS)
//@ lines what_z_counts
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
strip(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    #include "parts/parameters.cuh"
{
    extern __shared__ shared_t shared[];
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;

    if (threadIdx.x == 0) {
        fetch_map(M_map);
        fetch_map(N_map);
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full[stage], 1);
            make_barrier(empty[stage], WARPS);  // a lane of each arrives
        }
        publish_barriers();
    }
    __syncthreads();
    //@| #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/output.cuh"  //@ only not splits_k
    //@| #include "parts/dependents.cuh"  //@ dependents
    #include "strip/place.cuh"
    //@| const int phases = (k_end - k_begin + PHASE - 1) / PHASE;  // of this split: the last may have none  //@ only splits_k
    const int phases = (k + PHASE - 1) / PHASE;  //@ k_index for k  //@ only not splits_k
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&] {
        if (++stage == STAGES) {
            stage = 0;
            turn ^= 1;
        }
    };

    if (threadIdx.x == WARPS * WARP) {  // one thread starts all copies
#pragma unroll 1
        for (int phase = 0; phase < phases; ++phase) {
            const int kk = phase * PHASE;  //@ first_k for phase
            phase_t &tile = shared->phase[stage];
            wait(empty[stage], turn ^ 1);  // what is new counts as empty
            arrive_and_expect(full[stage], sizeof tile.M + sizeof tile.N);
            copy_box(&tile.M, M_map, kk, block_row, full[stage]);  //@ m_product for full
#pragma unroll
            for (int box = 0; box < BOXES; ++box)
                copy_box(&tile.N[box], N_map, box * LINE * VECTOR, kk / VECTOR, full[stage]);  //@ n_product for full
            pass();
        }
    } else if (warp < WARPS) {
        #include "strip/multiply.cuh"
#pragma unroll 1
        for (int phase = 0; phase < phases; ++phase) {
            wait(full[stage], turn);
            multiply(shared->phase[stage]);
            __syncwarp();  // all lanes are done with it
            if (lane == 0)
                arrive(empty[stage]);
            pass();
        }

        fold<K_LANES / 2>(sum, k_lane);
#pragma unroll
        for (int i = 0; i < SHARE; ++i)
            shared->sum[warp][i][lane] = sum[i];
    }
    __syncthreads();

    const auto sum_of = [&](int of_warp, int i, int owner) { return shared->sum[of_warp][i][owner]; };
    #include "strip/finish.cuh"  //@ last_part
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
