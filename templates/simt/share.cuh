// This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
//@ if m_row_major
constexpr int M_WIDTH = 1;  //@ m_vector
constexpr int M_RUN = 16;  // threads that copy neighbours along k, which go to different rows of the tile  //@ m_run
constexpr int M_ROWS = THREADS / M_RUN < BM ? THREADS / M_RUN : BM;
constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
const int m_row = thread / M_RUN % M_ROWS;
const int m_kk = (thread / (M_RUN * M_ROWS) * M_RUN + thread % M_RUN) * M_WIDTH;
const input_t *m_from = &M[(block_row + m_row) * ld_m + m_kk];
//@ else
//@| constexpr int M_WIDTH = 4;  //@ m_vector
//@| constexpr int M_ROWS = 128;  //@ m_line
//@| constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
//@| const int m_kk = thread / (M_ROWS / M_WIDTH);
//@| const int m_row = thread % (M_ROWS / M_WIDTH) * M_WIDTH;
//@| const input_t *m_from = &M[m_kk * ld_m + block_row + m_row];
//@ end
//@ if n_row_major
constexpr int N_WIDTH = 4;  //@ n_vector
constexpr int N_COLS = 128;  //@ n_line
constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
const int n_kk = thread / (N_COLS / N_WIDTH);
const int n_col = thread % (N_COLS / N_WIDTH) * N_WIDTH;
const input_t *n_from = &N[n_kk * ld_n + block_col + n_col];
//@ if spreads_cols
//@| // Where this column is stored: the VEC elements that a lane reads at once are those that it has of 8 * VEC columns.
//@| const int n_lane = n_col / COL_RUN % 8;
//@| const int n_place = n_col / (8 * VEC) * (8 * VEC) + n_lane * VEC + n_col % (8 * VEC) / (8 * COL_RUN) * COL_RUN + n_col % COL_RUN;
//@ end
//@ else
//@| constexpr int N_WIDTH = 1;  //@ n_vector
//@| constexpr int N_RUN = 16;  // threads that copy neighbours along k, which go to different rows of the tile  //@ n_run
//@| constexpr int N_COLS = THREADS / N_RUN < BN ? THREADS / N_RUN : BN;
//@| constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
//@| const int n_col = thread / N_RUN % N_COLS;
//@| const int n_kk = (thread / (N_RUN * N_COLS) * N_RUN + thread % N_RUN) * N_WIDTH;
//@| const input_t *n_from = &N[(block_col + n_col) * ld_n + n_kk];
//@ end
const index_t rows_left = j - block_row - m_row;  //@ only clips_rows
const index_t cols_left = l - block_col - n_col;  //@ only clips_cols
//@ if check_k

// The first phase takes what is no multiple of BK, so that all others are whole.
const index_t first_steps = (k - 1) % BK + 1;  //@ k_steps for k
//@ end
