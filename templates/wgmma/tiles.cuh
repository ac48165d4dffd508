// What one phase needs, in blocks of lines of 128 bytes: BK elements along k or, where neighbours in memory lie across k, as many
// elements across it.
constexpr int LINE = 128 / sizeof(input_t);  //@ line_t for input_t
#include "wgmma/blocks.cuh"  //@ only not m_weights
//@| constexpr int M_LINE = BK / 2;  // bytes of a row of M  //@ m_line for BK / 2  //@ only m_weights
#include "wgmma/blocks.cuh"  //@ with n for m, N for M, BN for BM, columns for rows
struct __align__(1024) phase_t {
    input_t M[M_BLOCKS][M_LINES][LINE];  //@ m_t for input_t  //@ only not m_weights
    //@| unsigned char M[BM][M_LINE];  //@ stored_m for unsigned char M[BM][M_LINE]  //@ only m_weights
    input_t N[N_BLOCKS][N_LINES][LINE];  //@ n_t for input_t
};
struct shared_t {
    phase_t phase[STAGES];
    #include "wgmma/boxes.cuh"  //@ boxes
    sum_t lines[4 * MULTIPLIERS][16][SLICE];  // what each warp stores of P  //@ storers for 4 * MULTIPLIERS  //@ slice_lines for [16][SLICE]  //@ only in_lines
    //@| __align__(8) sum_t parts[CLUSTER - 1][4 * MULTIPLIERS][TM * TN / 2][32][2];  // the other sums of a tile  //@ sharers for CLUSTER  //@ storers for 4 * MULTIPLIERS  //@ only gathers
    #include "wgmma/barriers.cuh"
};

#include "wgmma/in_box.cuh"  //@ in_box
#include "wgmma/in_lines.cuh"  //@ in_lines
