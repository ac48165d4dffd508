// Tensor cores multiply whole tiles of shared memory, and copies of whole tiles bring them there: both go on next to the threads, which
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
#include "wgmma/variants.cuh"

#include "parts/card.cuh"
constexpr int BM = 128;
constexpr int BN = 32;
constexpr int BK = 64;  // 128 bytes of elements  //@ only not m_weights
//@| constexpr int BK = 128;  // 64 bytes of M, and twice 128 of N  //@ m_bytes for 64  //@ n_bytes for twice 128  //@ only m_weights
//@| constexpr int PART = 64;  // elements along k that tensor cores add up
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int MULTIPLIERS = 2;
//@| constexpr int SLICES = 2;  // multipliers that share the k of a tile
//@| constexpr int ROUND = SLICES * BK;  // elements along k of a phase of each
//@| constexpr int STORERS = 4 * MULTIPLIERS / SLICES;  // warps
constexpr int WM = BM / MULTIPLIERS;  // rows of a warpgroup
constexpr int TM = WM / 32;  // elements of a thread in a column of P
constexpr int TN = BN / 4;  // and in a row
constexpr int THREADS = 128 * (1 + MULTIPLIERS);
constexpr int STAGES = 4;
constexpr int PREPARERS = 3;  // warps
//@| constexpr int GATHERERS = 3;  // warps  //@ only gathers_m
//@| constexpr int SCALERS = 3;  // warps  //@ only scales_parts
//@| constexpr int AT_ONCE = 4;  // parts of k whose scales are loaded at once  //@ only scales_parts
constexpr int BLOCKS = 1;
constexpr int GROUP = 8;
constexpr int SLICE = 64;  // columns of P that a warp stores at once, 16 rows high
constexpr int P_VECTOR = 1;  // neighbours that a lane stores at once
constexpr int BOXES = 2;  // of a warp: one is filled while another is stored
constexpr int SPLITS = 4;  //@ only splits_k
//@| constexpr int CLUSTER = 2;  // blocks  //@ only clusters

#include "parts/vector.cuh"
//@| // Copies from global to shared memory past the registers. They arrive at a barrier when they are there.  //@ only gathers_m
//@| #include "parts/async_copies.cuh"  //@ only gathers_m
//@| #include "parts/widen.cuh"  //@ widen_words
#include "parts/barrier.cuh"
#include "parts/tensor.cuh"
//@| #include "parts/cluster.cuh"  //@ only clusters
//@| #include "parts/multicast.cuh"  //@ only shares_tiles
#include "wgmma/copy_once.cuh"  //@ copy_once
//@| #include "parts/send.cuh"  //@ send
#include "parts/wgmma.cuh"
//@| #include "wgmma/scales.cuh"  //@ only scales_parts
#include "wgmma/tiles.cuh"
#include "wgmma/offsets.cuh"
//@| #include "wgmma/quads.cuh"  //@ quads
//@| #include "wgmma/factors.cuh"  //@ factors
#include "parts/tf32.cuh"  //@ only pack_rounds
#include "pack/pack.cuh"  //@ only packs
#include "parts/rows.cuh"
// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
//         They walk the tiles of one product of the batch after the other.  //@ only walks_products
//         blockIdx.z counts the products of the batch.  //@ only batched and not walks_products
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wgmma(
    const __grid_constant__ tensor_map_t M_map,  //@ only not gathers_m
    const __grid_constant__ tensor_map_t N_map,
    #include "parts/parameters.cuh"
{
    extern __shared__ shared_t shared[];
    phase_t (&tiles)[STAGES] = shared->phase;
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;
    barrier_t (&came)[STAGES] = shared->came;  //@ only prepares
    barrier_t (&begins)[MULTIPLIERS] = shared->begins;  //@ only pingpong

    //@ lines derived
    //@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
    #include "parts/output.cuh"  //@ only not splits_k and not walks_products
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(came[stage], 1);  //@ only prepares
            make_barrier(full[stage], PREPARERS);  // a lane of each arrives  //@ only prepares
            make_barrier(full[stage], 1);  //@ arrivals for 1  //@ only not prepares
            make_barrier(empty[stage], 4 * MULTIPLIERS);  // a lane of each warp arrives  //@ releases for 4 * MULTIPLIERS
        }
        for (int multiplier = 0; multiplier < MULTIPLIERS; ++multiplier)  //@ only pingpong
            make_barrier(begins[multiplier], 4);
        //@| for (int warp = 0; warp < 4 * MULTIPLIERS; ++warp) {  //@ only gathers
        //@|     make_barrier(shared->gathers[warp], 1);  //@ senders for 1
        //@|     make_barrier(shared->added[warp], 1);
        //@| }
        publish_barriers();
    }
    __syncthreads();  //@ meet for __syncthreads
    #include "parts/awaits.cuh"  //@ awaits
    #include "parts/dependents.cuh"  //@ dependents

    //@ lines rank_of_block
    #include "wgmma/part_of_k.cuh"  //@ only has_parts
    //@| const int phases = (k + BK - 1) / BK;  //@ k_index for k  //@ phases_of for BK  //@ round_k for BK  //@ only not has_parts and not divides_k
    // Tiles that are multiplied at the same time should find their rows of M and columns of N in the L2: GROUP rows of tiles are walked
    // together, column by column.
    #include "wgmma/place.cuh"  //@ place
    //@| #include "wgmma/span.cuh"  //@ only divides_k
    const int warpgroup = of_warp(threadIdx.x / 128);
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&](int places) {  //@ places_t for int
        //@| turn ^= static_cast<int>(places / STAGES % 2);  //@ only pingpong
        stage += places;  //@ advance for places
        if (stage >= STAGES) {
            stage -= STAGES;
            turn ^= 1;
        }
    };

    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  //@ bringer_registers for 40  //@ only moves_registers
        #include "wgmma/bring.cuh"  //@ bring
        //@| #include "wgmma/prepare.cuh"  //@ only prepares
        //@| #include "wgmma/gather.cuh"  //@ only gathers_m
        //@| #include "wgmma/bring_scales.cuh"  //@ only scales_parts
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  //@ multiplier_registers for 232  //@ only moves_registers
        #include "wgmma/multiply.cuh"
    }
    //@| meet_in_cluster();  // others reach for this block's shared memory until here  //@ only clusters
}
//@ if splits_k

#include "parts/reduce.cuh"
//@ end
//@| #include "parts/combine.cuh"  //@ only reduces
