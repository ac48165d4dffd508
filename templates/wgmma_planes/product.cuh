// What one phase needs: lines of 128 bytes of each plane.
struct __align__(1024) phase_t {
    plane_t M[PLANES][BM][BK];
    plane_t N[PLANES][BN][BK];
};
struct shared_t {
    phase_t phase[STAGES];
    barrier_t full[STAGES];   // its tiles have come
    barrier_t empty[STAGES];  // nobody needs them any more
};
extern __shared__ __align__(1024) unsigned char shared[];
shared_t &ring = reinterpret_cast<shared_t &>(shared);

//@ if batched
// The product of the batch that this block works on.
#include "parts/output.cuh"

//@ end
if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
        make_barrier(ring.full[stage], 1);
        make_barrier(ring.empty[stage], 4 * MULTIPLIERS);  // a lane of each warp arrives
    }
    publish_barriers();
}
__syncthreads();

// Tiles that are multiplied at the same time should find their lines in the L2: GROUP rows of tiles are walked together, column by
// column.
constexpr int rows = (j + BM - 1) / BM, cols = (l + BN - 1) / BN, phases = (k + BK - 1) / BK;
const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
    const int first = tile / (GROUP * cols) * GROUP;
    const int height = min(GROUP, rows - first);
    block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
    block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
};
int stage = 0;  // the place in the ring,
int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
const auto next_stage = [&] {
    if (++stage == STAGES) {
        stage = 0;
        turn ^= 1;
    }
};

if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  //@ only moves_registers
    // One thread starts all copies. The planes of a matrix follow each other, line after line.
    if (threadIdx.x == 0) {
        const int m_line = m_of(blockIdx.z) * MOST_PLANES * static_cast<int>(M_LINES);
        const int n_line = n_of(blockIdx.z) * MOST_PLANES * static_cast<int>(N_LINES);
        for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
            index_t block_row, block_col;
            place_of(tile, block_row, block_col);
            for (int phase = 0; phase < phases; ++phase) {
                wait(ring.empty[stage], turn ^ 1);  // what is new counts as empty
                arrive_and_expect(ring.full[stage], sizeof(phase_t));
#pragma unroll
                for (int plane = 0; plane < PLANES; ++plane) {
                    copy_box(&ring.phase[stage].M[plane], M_map, phase * BK, m_line + plane * static_cast<int>(M_LINES) + block_row, ring.full[stage]);
                    copy_box(&ring.phase[stage].N[plane], N_map, phase * BK, n_line + plane * static_cast<int>(N_LINES) + block_col, ring.full[stage]);
                }
                next_stage();
            }
        }
    }
} else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  //@ multiplier_registers for 232  //@ only moves_registers
    // The first row and column of P that this thread computes, in the block's tile.
    const int lane = threadIdx.x % 32;
    const int group_row = (of_warp(threadIdx.x / 128) - 1) * 64;
    const int thread_row = group_row + threadIdx.x % 128 / 32 * 16 + lane / 4;
    const int thread_col = lane % 4 * 2;
    // What this warpgroup multiplies first at the ring's first place; all else lies so many bytes further on.
    const auto m_first = descriptor(&ring.phase[0].M[0][group_row], sizeof(ring.phase[0].M[0]));
    const auto n_first = descriptor(&ring.phase[0].N[0], sizeof(ring.phase[0].N[0]));

    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
        index_t block_row, block_col;
        place_of(tile, block_row, block_col);
        // Tensor cores cut off what their sums cannot hold, so they add up one phase alone, what is small first; the sums over all of k are
        // made in FP32, which rounds.
        sum_t sum[TM][TN] = {}, part[TM][TN] = {};
        for (int phase = 0; phase < phases; ++phase) {
            const auto m_now = moved(m_first, stage * sizeof(phase_t)), n_now = moved(n_first, stage * sizeof(phase_t));
            wait(ring.full[stage], turn);
            settle(part);
            begin_products();
#pragma unroll
            for (int order = PLANES - 1; order >= 0; --order) {
#pragma unroll
                for (int plane = 0; plane <= order; ++plane)
#pragma unroll
                    for (int kk = 0; kk < BK; kk += K_STEP) {
                        const auto m = moved(m_now, plane * sizeof(ring.phase[0].M[0]) + kk * sizeof(plane_t));
                        const auto n = moved(n_now, (order - plane) * sizeof(ring.phase[0].N[0]) + kk * sizeof(plane_t));
                        const bool adds = order < PLANES - 1 || plane > 0 || kk > 0;
                        if constexpr (PLANES == 2)
                            multiply_add(m, n, part[0], part[1]);  //@ lower_sums for part[1]
                        else
                            multiply_add_wide(m, n, part[0], part[1], adds);
                    }
                if (PLANES == 2 && order == 1) {
                    commit_products();
                    wait_for_products<0>();
                    settle(part);
#pragma unroll
                    for (int c = 0; c < TN; ++c)
#pragma unroll
                        for (int r = 0; r < TM; ++r)
                            part[r][c] *= 1.0f / (1 << LOW);
                    settle(part);
                    begin_products();
                }
            }
            commit_products();
            wait_for_products<0>();
            if (lane == 0)
                arrive(ring.empty[stage]);
            settle(part);
#pragma unroll
            for (int c = 0; c < TN; ++c)
#pragma unroll
                for (int r = 0; r < TM; ++r)
                    sum[r][c] += part[r][c];
            next_stage();
        }

        // The scales of the two lines are powers of two, and are taken back exactly.
        if constexpr (PLANES == 2) {
            int row_exponent[TM];
#pragma unroll
            for (int r = 0; r < TM; ++r)
                row_exponent[r] = lines->m_exponent[m_of(blockIdx.z)][block_row + thread_row + 8 * r];
#pragma unroll
            for (int c = 0; c < TN; c += 2) {
                const vector_t<int, 2> col_exponent = read<2>(&lines->n_exponent[n_of(blockIdx.z)][block_col + thread_col + 4 * c]);
#pragma unroll
                for (int r = 0; r < TM; ++r)
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        sum[r][c + i] = scale_by(sum[r][c + i], row_exponent[r] + col_exponent.element[i]);
            }
            settle(sum);  // now, and not between the stores
        }
        //@| #include "wgmma_planes/of_warp.cuh"  //@ only reduces
        #include "parts/store.cuh"
    }
}
