// One block computes one BM x BN tile of P, one warp WM x WN elements of it, by products of 16 x 8 elements that the tensor cores
// make. The k dimension is walked in phases of BK, in four steps:
//
//                            BN
//                       +-----------+     copy      the tiles of a phase, from global memory past the registers into  //@ past for past
//                    BK |  phase 0  |               one of STAGES places in shared memory: STAGES - 1 phases ahead
//@ if loads_ahead
//                N      +-----------+     load      the fragments of one step of k, from there into registers: one step
//                    BK |  phase 1  |               ahead, into the other half of m and n
//@ else
//@| //                N      +-----------+     load      the fragments of one step of k, from there into registers: in the
//@| //                    BK |  phase 1  |               step that needs them
//@ end
//        M              +-----------+     multiply  the fragments of one step, and add up the products
//    BK      BK               :           store     the sums, in the end
// +-------+-------+     +-----------+
// |phase 0|phase 1| ... | tile of P | BM
// +-------+-------+     +-----------+
//@ if packs
//
// Before all that, a kernel of its own copies what lies on odd addresses to a place where every line begins at a multiple of 16 bytes.
//@ end

#include "parts/card.cuh"
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 64;
constexpr int WN = 64;
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
#include "mma/phase.cuh"
constexpr int STEPS = BK / K_STEP;  // of a phase
constexpr int TM = WM / 8;  // elements of a thread in a column of P
constexpr int TN = WN / 4;  // and in a row
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int STAGES = 3;
constexpr int BLOCKS = 1;
constexpr int P_VECTOR = 1;  // elements that one instruction stores
constexpr int SPLITS = 4;  //@ only splits_k

#include "parts/vector.cuh"
#include "parts/async.cuh"  //@ only copies_async
//@| #include "parts/plain.cuh"  //@ plain_copies
//@| #include "parts/widen.cuh"  //@ widen_words
#include "parts/mma.cuh"
//@| #include "parts/weights.cuh"  //@ stored_weights
#include "parts/swizzle.cuh"  //@ swizzle
#include "mma/tiles.cuh"
#include "pack/pack.cuh"  //@ only packs
#include "parts/rows.cuh"
#include "simt/launch.cuh"
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
mma(
    #include "parts/parameters.cuh"
{
    extern __shared__ phase_t tiles[];

    #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ dependents
    #include "parts/tile_y.cuh"  //@ which_tile
    #include "parts/begin.cuh"  //@ begin

    //@| #include "parts/part_of_k.cuh"  //@ only splits_k
    const index_t phases = (k + BK - 1) / BK;  //@ k_index for k  //@ only not splits_k

    // The first row and column of P that this thread computes, in the block's tile. The next come 8 rows and columns further.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;  //@ warp_and_slice for threadIdx.x / 32
    const int warp_row = warp / (BN / WN) * WM;
    const int warp_col = warp % (BN / WN) * WN;
    const int thread_row = warp_row + lane / 4;  //@ lane_row for lane / 4;
    const int thread_col = warp_col + lane % 4 * 2;  //@ lane_col for lane % 4 * 2;

    // This thread's share of the copies: its first elements in each tile, and how many lines the block comes further in one go.
    constexpr int M_WIDTH = 4;  // elements of one copy
    #include "mma/share_along.cuh"  //@ m_share
    constexpr int N_WIDTH = 4;
    #include "mma/share_across.cuh"  //@ n_share  //@ with n for m, N for M, col for row
    #include "mma/inside.cuh"

    #include "mma/waiting_of_either.cuh"
    // copy: the tiles of a phase. What lies outside M and N becomes zero, and is not read.  //@ only clips_copies
    //@| // copy: the tiles of a phase.  //@ only not clips_copies
    const auto copy = [&](phase_t &into, index_t phase, int piece) {  //@ , checks_phases, spreads_copies
        const index_t k_left = k - phase * BK;  //@ k_steps for k  //@ only checks_phases
        const index_t m_left = k_left - m_first;  //@ m_k_left for k_left  //@ only m_clips_ends and m_along_k
        //@| const index_t m_lines_left = k_left - m_line;  //@ only m_clips_lines and not m_along_k
        const index_t n_lines_left = k_left - n_line;  //@ only n_clips_lines and not n_along_k
        //@| const index_t n_left = k_left - n_first;  //@ n_k_left for k_left  //@ only n_clips_ends and n_along_k
#pragma unroll  //@ m_unroll for unroll
        #include "mma/copy_checked.cuh"  //@ m_copy
#pragma unroll  //@ n_unroll for unroll
        #include "mma/copy_checked.cuh"  //@ n_copy  //@ with n for m, N for M
        m_from += BK;  //@ m_advance for BK
        n_from += BK * ld_n;  //@ n_advance for BK * ld_n
    };
    #include "mma/store_either.cuh"

    //@| #include "mma/parts.cuh"  //@ only adds_parts
    //@| #include "mma/block_scales.cuh"  //@ block_scales
    // load: the fragments of one step, for the rows and columns of this warp.
    fragment_t m[2][WM / 16][4], n[2][WN / 8][2];  //@ m_halves_of for m[2]  //@ n_halves_of for n[2]
    const auto load = [&](const phase_t &from, int step) {
        #include "mma/load_m_whole.cuh"  //@ m_load
        #include "mma/load_n_halves.cuh"  //@ n_load
    };

    // multiply: one step's products, added to the thread's sums.
    sum_t sum[TM][TN] = {};
    //@| #include "mma/add_part.cuh"  //@ only adds_parts
    const auto multiply = [&](int step) {  //@ which_step for int step
        //@| #include "mma/which_scales.cuh"  //@ which_scales
#pragma unroll
        for (int r = 0; r < WM / 16; ++r)
#pragma unroll
            for (int i = 0; i < WN / 8; ++i) {
                // To and fro, so that a fragment in two neighbouring products is read once.
                const int c = r % 2 == 0 ? i : WN / 8 - 1 - i;
                const int col = 2 * c, next = col + 1;  //@ col_of_product for 2 * c  //@ next_of_product for col + 1;
                multiply_add(m[step % 2][r], n[step % 2][c], sum[2 * r][col], sum[2 * r][next], sum[2 * r + 1][col], sum[2 * r + 1][next]);  //@ m_now for m[step % 2]  //@ n_now for n[step % 2]  //@ by_scales for [c]  //@ products for sum  //@ products for sum  //@ products for sum  //@ products for sum
            }
        //@| #include "mma/sum_m.cuh"  //@ sum_others
    };

    #include "parts/walk.cuh"  //@ walk

    //@| #include "mma/compute_again.cuh"  //@ compute_again
    //@| #include "parts/quantize_tile.cuh"  //@ quantize_tile
    #include "parts/store.cuh"  //@ store
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
