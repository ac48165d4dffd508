// What one phase needs, in blocks of lines of 128 bytes: BK elements along k or, where neighbours in memory lie across k, as many
// elements across it.
constexpr int LINE = 128 / sizeof(input_t);  //@ m_t for input_t
constexpr int M_BLOCKS = 1, M_LINES = BM;  // one block, whose lines are rows of M  //@ only m_along_k
//@| constexpr int M_BLOCKS = (BM + LINE - 1) / LINE, M_LINES = BK;  // a block for every LINE rows  //@ only not m_along_k
//@| constexpr int N_BLOCKS = 1, N_LINES = BN;  // one block, whose lines are columns of N  //@ only n_along_k
constexpr int N_BLOCKS = (BN + LINE - 1) / LINE, N_LINES = BK;  // a block for every LINE columns  //@ only not n_along_k
struct __align__(1024) phase_t {
    input_t M[M_BLOCKS][M_LINES][LINE];  //@ m_t for input_t
    input_t N[N_BLOCKS][N_LINES][LINE];  //@ n_t for input_t
};
struct shared_t {
    phase_t phase[STAGES];
    output_t boxes[4 * MULTIPLIERS][BOXES][16 * SLICE];  // what each warp stores of P  //@ box_cols for SLICE  //@ only p_map
    sum_t lines[4 * MULTIPLIERS][16][SLICE];  // what each warp stores of P  //@ only not p_map
    barrier_t came[STAGES];   // its tiles have come  //@ only squares
    barrier_t full[STAGES];   // its tiles have come  //@ when_full for its tiles have come
    barrier_t empty[STAGES];  // nobody needs them any more
    barrier_t begins[MULTIPLIERS];  // it is that warpgroup's turn to multiply  //@ only pingpong
};

#include "wgmma/squares.cuh"  //@ only squares
// Where a product's elements begin in a tile, in bytes: so many rows (columns) from the tile's first, and so many elements along k.
__device__ constexpr int m_offset(int row, int kk)
{
    return (row * LINE + kk) * sizeof(input_t);  //@ m_t for input_t  //@ only m_along_k
    //@| return (row / LINE * M_LINES + kk) * 128;  //@ only not m_along_k
}

__device__ constexpr int n_offset(int kk)
{
    //@| return kk * sizeof(input_t);  //@ n_t for input_t  //@ only n_along_k
    return kk * 128;  //@ only not n_along_k
}

//@ if p_map
// Where an element lies in a box: its 16-byte chunk has changed places with others of 128 bytes, so that lanes meet in no bank.
__device__ __forceinline__ output_t &in_box(output_t *box, int row, int col)
{
    constexpr int CHUNKS = SLICE * sizeof(output_t) / 16;  // of a row  //@ box_cols for SLICE
    const int at = (row * SLICE + col) * sizeof(output_t);  //@ box_cols for SLICE
    return box[(at ^ at / 128 % CHUNKS * 16) / sizeof(output_t)];
}
//@ else
// Where a sum lies: groups of 8 have changed places, so that lanes meet in no bank.
__device__ __forceinline__ sum_t &in_lines(sum_t (&lines)[16][SLICE], int row, int col)
{
    return lines[row][col ^ row % (SLICE / 8) * 8];
}
//@ end

