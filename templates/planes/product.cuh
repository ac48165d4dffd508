constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int STEPS = BK / K_STEP;  // of a phase
constexpr int TM = WM / 8;  // elements of a thread in a column of P
constexpr int TN = WN / 4;  // and in a row
constexpr int CHUNK = 8;  // elements of 16 bytes
constexpr int CHUNKS = BK / CHUNK;  // of a line of a tile
struct __align__(128) phase_t {
    plane_t M[PLANES][BM * BK];
    plane_t N[PLANES][BN * BK];
};
extern __shared__ __align__(128) unsigned char shared[];
phase_t *const tiles = reinterpret_cast<phase_t *>(shared);

//@ if batched
// The product of the batch that this block works on.
M_planes += m_of(blockIdx.z) * (MOST_PLANES * M_LINES * K_LINE);
N_planes += n_of(blockIdx.z) * (MOST_PLANES * N_LINES * K_LINE);
#include "parts/output.cuh"

//@ end
#include "parts/tile_y.cuh"  //@ which_tile
#include "parts/begin.cuh"

const index_t phases = (k + BK - 1) / BK;

// The first row and column of P that this thread computes, in the block's tile. The next come 8 rows and columns further.
const int lane = threadIdx.x % 32;
const int warp = threadIdx.x / 32;
const int warp_row = warp / (BN / WN) * WM;
const int warp_col = warp % (BN / WN) * WN;
const int thread_row = warp_row + lane / 4;
const int thread_col = warp_col + lane % 4 * 2;

// copy: the tiles of a phase, of all planes. The lines of a tile lie along k.
constexpr int GO = THREADS / CHUNKS;  // lines that the block copies at a time
const int copy_line = threadIdx.x / CHUNKS;
const int copy_chunk = threadIdx.x % CHUNKS;
const plane_t *m_from = &M_planes[(block_row + copy_line) * K_LINE + copy_chunk * CHUNK];
const plane_t *n_from = &N_planes[(block_col + copy_line) * K_LINE + copy_chunk * CHUNK];
const auto place = [](int line, int chunk) { return swizzle<CHUNKS>(line, chunk, line % 8) * CHUNK; };
const auto copy = [&](phase_t &into) {
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
        for (int line = 0; line < BM; line += GO)
            copy_async<16>(&into.M[plane][place(copy_line + line, copy_chunk)], &m_from[(plane * M_LINES + line) * K_LINE]);
#pragma unroll
        for (int line = 0; line < BN; line += GO)
            copy_async<16>(&into.N[plane][place(copy_line + line, copy_chunk)], &n_from[(plane * N_LINES + line) * K_LINE]);
    }
    m_from += BK;
    n_from += BK;
};

// multiply: the products of one step. Tensor cores cut off what their sums cannot hold, so they add up one step alone, what is small
// first; the sums over all of k are made in FP32, which rounds.
sum_t sum[TM][TN] = {};
const auto multiply = [&](const phase_t &from, int step) {
    fragment_t n[PLANES][WN / 8][2];
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane)
#pragma unroll
        for (int c = 0; c < WN / 8; c += 2) {
            fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
            load_matrices(fragment, &from.N[plane][place(warp_col + 8 * c + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2)]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                n[plane][c + i / 2][i % 2] = fragment[i];
        }
#pragma unroll
    for (int r = 0; r < WM / 16; ++r) {
        fragment_t m[PLANES][4];
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane)
            load_matrices(m[plane], &from.M[plane][place(warp_row + 16 * r + lane % 16, step * 2 + lane / 16)]);
        sum_t part[WN / 8][4] = {};
#pragma unroll
        for (int order = PLANES - 1; order >= 0; --order) {
#pragma unroll
            for (int plane = 0; plane <= order; ++plane)
#pragma unroll
                for (int c = 0; c < WN / 8; ++c)
                    multiply_add(m[plane], n[order - plane][c], part[c][0], part[c][1], part[c][2], part[c][3]);  //@ multiply_planes for multiply_add
            if constexpr (PLANES == 2) {
                if (order == 1) {
#pragma unroll
                    for (int c = 0; c < WN / 8; ++c)
#pragma unroll
                        for (int i = 0; i < 4; ++i)
                            part[c][i] *= 1.0f / (1 << LOW);
                }
            }
        }
#pragma unroll
        for (int c = 0; c < WN / 8; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                sum[2 * r + i / 2][2 * c + i % 2] += part[c][i];
    }
};

#pragma unroll
for (int s = 0; s < STAGES - 1; ++s) {
    if (s < phases)  //@ only may_be_short
        copy(tiles[s]);
    copy(tiles[s]);  //@ only not may_be_short
    commit_copies();
}
int current = 0;        // the stage that is multiplied
int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
for (index_t phase = 0; phase < phases; ++phase) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // this phase's tiles are complete, and nobody needs those of the phase before any more
    if (phase + STAGES - 1 < phases)
        copy(tiles[free]);
    commit_copies();
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
        multiply(tiles[current], step);
    free = current;
    current = current + 1 < STAGES ? current + 1 : 0;
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
            for (int i = 0; i < 2; ++i) {
                sum[r][c + i] = scale_by(sum[r][c + i], row_exponent[r] + col_exponent.element[i]);
                asm volatile("" : "+f"(sum[r][c + i]));  // now, and not between the stores
            }
    }
}

#include "parts/store.cuh"
