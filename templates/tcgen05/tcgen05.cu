// Tensor cores multiply whole tiles of shared memory, and keep the sums in a memory of their own, tensor memory. Copies of whole tiles
// bring what they multiply. All of it goes on next to the threads, which only say when. The warps of a block divide the work:
//
//                 warp 0 brings             warp 1 multiplies            warps 4 to 7 store
//        wait      empty: all is             full: the tiles are there    done: the sums of a tile are made
//                  multiplied that was       taken: so are the sums that
//                  there before              were there before
//        do        copy the tiles of         multiply them, and add up    read the sums, finish them, and store
//                  a phase of BK                                          them as P
//        arrive    full, with the            empty, when multiplied;      taken, when all are read
//                  last byte                 done, after the last phase
//
// The tiles of STAGES phases have places in a ring in shared memory. Tensor memory has the sums of two tiles of P: while those of one are
// stored, those of the next are made. A block computes one tile after the other, as long as there are any.
//@ if by_cols

// Swapped: tensor cores take 64 or 128 rows of M at once, and columns of N in steps of 8 or 16. The few rows of the caller's P are therefore
// columns here, so that hardly any product is made for nothing. P lies column by column.
//@ end
//@| #include "tcgen05/about_pair.cuh"  //@ only clusters

#include "parts/card.cuh"
constexpr int BM = 128;
constexpr int BN = 64;
constexpr int BK = 64;  // 128 bytes of elements
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int STRIP = 64;  // columns of sums that a warp reads at once, BM / 4 rows high
constexpr int LOAD = 16;  // and with one instruction, 16 rows high
constexpr int TM = BM / 32;  // elements of a thread in a column of P
constexpr int TN = STRIP / 4;  // and in a row
constexpr int THREADS = 256;
constexpr int MULTIPLIERS = 1;  // the warpgroup that stores, where wgmma's have multiplied
constexpr int STAGES = 4;
constexpr int COLUMNS = 256;  // of tensor memory: twice BN, rounded up to a power of two, and at least 32  //@ columns_of for twice BN
constexpr int GROUP = 8;
constexpr int SLICE = 64;  // columns of P that a warp stores at once, 16 rows high
constexpr int P_VECTOR = 1;  // neighbours that a lane stores at once
constexpr int BOXES = 2;  // of a warp: one is filled while another is stored
constexpr int SPLITS = 4;  //@ only splits_k

#include "parts/vector.cuh"
//@| #include "parts/widen.cuh"  //@ widen_words
#include "parts/barrier.cuh"
#include "parts/tensor.cuh"
//@| #include "parts/cluster.cuh"  //@ only clusters
#include "tcgen05/instructions.cuh"
#include "wgmma/tiles.cuh"
#include "wgmma/offsets.cuh"
//@| #include "wgmma/quads.cuh"  //@ quads
#include "parts/tf32.cuh"  //@ only pack_rounds
#include "pack/pack.cuh"  //@ only packs
#include "parts/rows.cuh"
// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
//         They walk the tiles of one product of the batch after the other.  //@ only walks_products
//         blockIdx.z counts the products of the batch.  //@ only batched and not walks_products
extern "C" __global__ void __launch_bounds__(THREADS, 1)
tcgen05(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    #include "parts/parameters.cuh"
{
    extern __shared__ shared_t shared[];
    phase_t (&tiles)[STAGES] = shared->phase;
    barrier_t (&full)[STAGES] = shared->full, (&empty)[STAGES] = shared->empty;
    //@| barrier_t (&came)[STAGES] = shared->came;  //@ only turns_signs
    barrier_t (&done)[2] = shared->done, (&taken)[2] = shared->taken;

    //@ lines derived
    //@| W += static_cast<long long>(blockIdx.z) * j * l;  //@ only splits_k
    #include "parts/output.cuh"  //@ only not splits_k and not walks_products
    const int warp_of_block = of_warp(threadIdx.x / 32);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full[stage], 1);  //@ arrivals for 1
            //@| make_barrier(came[stage], 1);  //@ only turns_signs
            make_barrier(empty[stage], 1);
        }
        for (int tile = 0; tile < 2; ++tile) {
            make_barrier(done[tile], 1);
            make_barrier(taken[tile], 4);  // a lane of each warp that stores arrives  //@ takers for 4
        }
        publish_barriers();
    }
    if (warp_of_block == 1)
        allocate_columns(shared->sums);
    fence_before_barrier();
    __syncthreads();  //@ meet for __syncthreads
    fence_after_barrier();
    const unsigned sums = shared->sums;
    #include "parts/awaits.cuh"  //@ awaits
    #include "parts/dependents.cuh"  //@ dependents

    #include "wgmma/part_of_k.cuh"  //@ only splits_k
    //@| const int phases = (k + BK - 1) / BK;  //@ k_index for k  //@ only not splits_k
    // Tiles that are multiplied at the same time should find their rows of M and columns of N in the L2: GROUP rows of tiles are walked
    // together, column by column.
    #include "wgmma/place.cuh"  //@ place
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto pass = [&](int places) {
        stage += places;
        if (stage >= STAGES) {
            stage -= STAGES;
            turn ^= 1;
        }
    };

    if (warp_of_block == 0) {
        #include "wgmma/bring.cuh"  //@ bring
    } else if (warp_of_block == 1) {
        #include "tcgen05/multiply.cuh"
    //@ if scales_products
    //@| } else if (warp_of_block < 4) {
    //@|     #include "tcgen05/bring_scales.cuh"
    //@ end
    } else if (warp_of_block >= 4) {
        #include "tcgen05/store.cuh"
    }
    fence_before_barrier();
    __syncthreads();  //@ meet for __syncthreads
    fence_after_barrier();
    if (warp_of_block == 1)
        free_columns(sums);
}
//@ if splits_k

#include "parts/reduce.cuh"
//@ end
//@| #include "parts/combine.cuh"  //@ only reduces
