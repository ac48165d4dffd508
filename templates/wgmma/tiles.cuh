// What one phase needs, in blocks of lines of 128 bytes: BK elements along k or, where neighbours in memory lie across k, as many
// elements across it.
constexpr int LINE = 128 / sizeof(input_t);  //@ m_t for input_t
//@ if m_along_k
constexpr int M_BLOCKS = 1, M_LINES = BM;  // one block, whose lines are rows of M
//@ else
//@| constexpr int M_BLOCKS = (BM + LINE - 1) / LINE, M_LINES = BK;  // a block for every LINE rows
//@ end
//@ if n_along_k
//@| constexpr int N_BLOCKS = 1, N_LINES = BN;  // one block, whose lines are columns of N
//@ else
constexpr int N_BLOCKS = (BN + LINE - 1) / LINE, N_LINES = BK;  // a block for every LINE columns
//@ end
struct __align__(1024) phase_t {
    input_t M[M_BLOCKS][M_LINES][LINE];  //@ m_t for input_t
    input_t N[N_BLOCKS][N_LINES][LINE];  //@ n_t for input_t
};
struct shared_t {
    phase_t phase[STAGES];
    barrier_t full[STAGES];   // its tiles have come
    barrier_t empty[STAGES];  // nobody needs them any more
};

// Where the descriptors of a product begin: so many rows (columns) from the tile's first, and so many elements along k.
__device__ __forceinline__ const void *m_place(const phase_t &phase, int row, int kk)
{
    //@ if m_along_k
    return &phase.M[0][row][kk];
    //@ else
    //@| return &phase.M[row / LINE][kk][0];
    //@ end
}

__device__ __forceinline__ const void *n_place(const phase_t &phase, int kk)
{
    //@ if n_along_k
    //@| return &phase.N[0][0][kk];
    //@ else
    return &phase.N[0][kk][0];
    //@ end
}

