// Tensor cores multiply whole tiles of shared memory, and copies of whole tiles bring them there: both go on beside the threads, which
// only say when. The warpgroups of a block, of 128 threads each, divide the work. The first one brings the tiles of M and N, a phase
// of BK after the other, into a ring of STAGES; the MULTIPLIERS that follow multiply them, each WM rows of the block's
// tile of P. Two barriers for each place of the ring keep them together:
//
//                 brings                            multiplies
//        wait      empty: all have multiplied        full: the tiles are there
//                  what was there before
//        do        copy the tiles of a phase         multiply them
//        arrive    full, with the last byte          empty
//
// A block computes one tile of P after the other, as long as there are any: while the last sums of one are stored, the first phases of
// the next are on their way.
//@ if squares
//@|
//@| // Tensor cores take such elements along k alone. Tiles of what lies across k are transposed between the two, where they lie: by the
//@| // warps beside the one that starts the copies, which wait until the tiles have come, and then hand them on as full.
//@ end
//@ if pingpong
//@|
//@| // Ping-pong: each multiplying warpgroup has tiles of its own, and they take turns. While one stores its tile, another multiplies.
//@ end

#include "parts/card.cuh"
constexpr int BM = 128;  //@ bm
constexpr int BN = 32;  //@ bn
constexpr int BK = 64;  // 128 bytes of elements  //@ bk
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores  //@ k_step
constexpr int MULTIPLIERS = 2;  //@ multipliers
constexpr int WM = BM / MULTIPLIERS;  // rows of a warpgroup  //@ wm
constexpr int TM = WM / 32;  // elements of a thread in a column of P
constexpr int TN = BN / 4;  // and in a row
constexpr int THREADS = 128 * (1 + MULTIPLIERS);
constexpr int STAGES = 4;  //@ stages
//@ if squares
//@| constexpr int TRANSPOSERS = 3;  // warps
//@ end
constexpr int BLOCKS = 1;  //@ blocks
constexpr int GROUP = 8;  //@ group
constexpr int SLICE = 64;  // columns of P that a warp stores at once, 16 rows high  //@ slice
constexpr int P_VECTOR = 1;  // neighbours that a lane stores at once  //@ p_vector
//@ if p_map
//@| constexpr int BOXES = 2;  // of a warp: one is filled while another is stored  //@ boxes
//@ end
//@ if splits_k
constexpr int SPLITS = 4;
//@ end

#include "parts/vector.cuh"
//@ if widen_words
//@| #include "parts/widen.cuh"
//@ end
#include "parts/barrier.cuh"
#include "parts/tensor.cuh"
#include "parts/wgmma.cuh"
#include "wgmma/tiles.cuh"
#include "parts/tf32.cuh"  //@ only pack_rounds
#include "pack/pack.cuh"  //@ only packs
//@ if has_groups
//@| #include "parts/groups.cuh"
//@ end
// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wgmma(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    #include "parts/parameters.cuh"
{
    extern __shared__ shared_t shared[];
    phase_t (&tiles)[STAGES] = shared->phase;
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;
    //@ if squares
    //@| barrier_t (&came)[STAGES] = shared->came;
    //@ end
    //@ if pingpong
    //@| barrier_t (&begins)[MULTIPLIERS] = shared->begins;
    //@ end

    //@ lines derived
    //@ if splits_k
    //@| W += static_cast<long long>(blockIdx.z) * j * l;
    //@ else
    #include "parts/output.cuh"
    //@ end
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            //@ if squares
            //@| make_barrier(came[stage], 1);
            //@| make_barrier(full[stage], TRANSPOSERS);  // a lane of each arrives
            //@ else
            make_barrier(full[stage], 1);
            //@ end
            make_barrier(empty[stage], 4 * MULTIPLIERS);  // a lane of each warp arrives  //@ releases for 4 * MULTIPLIERS
        }
        //@ if pingpong
        //@| for (int multiplier = 0; multiplier < MULTIPLIERS; ++multiplier)
        //@|     make_barrier(begins[multiplier], 4);
        //@ end
        publish_barriers();
    }
    __syncthreads();
    //@ if awaits
    #include "parts/awaits.cuh"
    //@ end
    //@ if has_dependents
    //@| #include "parts/dependents.cuh"
    //@ end

    //@ if splits_k
    //@| // This block's part of k, in whole phases; the last may be short, or empty.
    //@| const index_t split = (k + SPLITS * BK - 1) / (SPLITS * BK) * BK;
    //@| const index_t k_begin = blockIdx.z % SPLITS * split;
    //@| const int phases = (min(split, max(k - k_begin, static_cast<index_t>(0))) + BK - 1) / BK;
    //@ elif any_k
    //@| const int phases = (static_cast<index_t>(k) + BK - 1) / BK;
    //@ else
    const int phases = (k + BK - 1) / BK;
    //@ end
    // Tiles that are multiplied at the same time should find their rows of M and columns of N in the L2: GROUP rows of tiles are walked
    // together, column by column.
    //@ if has_groups
    //@| // Rows of one group of rows, that is, for another one has another N.
    //@| const int rows = count_tiles(offsets, all_rows, BM), cols = (l + BN - 1) / BN;  //@ offset_rows for offsets
    //@| const auto place_of = [&](int tile, group_t &group, index_t &block_row, index_t &block_col) {
    //@|     find_group(offsets, all_rows, BM, tile / cols, group);  //@ offset_rows for offsets
    //@|     tile -= group.before * cols;
    //@|     const int first = tile / (GROUP * cols) * GROUP;
    //@|     const int height = min(GROUP, group.tiles - first);
    //@|     block_row = group.begin + static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
    //@ else
    const int rows = (j + BM - 1) / BM, cols = (l + BN - 1) / BN;
    const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
        const int first = tile / (GROUP * cols) * GROUP;
        const int height = min(GROUP, rows - first);
        block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
    //@ end
        block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
    };
    const int warpgroup = of_warp(threadIdx.x / 128);
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    //@ if pingpong
    //@| const auto pass = [&](long long places) {
    //@|     turn ^= static_cast<int>(places / STAGES % 2);
    //@|     stage += static_cast<int>(places % STAGES);
    //@ else
    const auto pass = [&](int places) {
        stage += places;
    //@ end
        if (stage >= STAGES) {
            stage -= STAGES;
            turn ^= 1;
        }
    };

    if (warpgroup == 0) {
        //@ if moves_registers
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  //@ bringer_registers for 40
        //@ end
        #include "wgmma/bring.cuh"
        //@ if squares
        //@| #include "wgmma/transpose.cuh"
        //@ end
    } else {
        //@ if moves_registers
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  //@ multiplier_registers for 232
        //@ end
        #include "wgmma/multiply.cuh"
    }
}
//@ if splits_k

#include "parts/reduce.cuh"
//@ end
//@ if reduces
//@| #include "parts/combine.cuh"
//@ end
