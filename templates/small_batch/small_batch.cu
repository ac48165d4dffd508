// Many small products. A team of TEAM threads computes one, and a block holds PRODUCTS teams. A team brings its
// M and N into shared memory whole and once; then each of its threads computes TM x TN elements of P, which it keeps
// in registers. While one block waits for memory, others on the multiprocessor multiply.
//
//                        N
//                   k x l, whole           Thread (row, col) of the team has the rows row, row + TEAM_ROWS, ...
//                                          and, VECTOR_COLS at a time, the columns from col * VECTOR_COLS on,
//        M         col 0  col 1  ...       TEAM_COLS * VECTOR_COLS apart: so threads side by side read and write
//    j x k, whole  +------+------+---      neighbours.
//           row 0  |      |      |
//                  +------+------+---      Steps of k are taken VEC at a time, which is one 16-byte read where a
//           row 1  |      |  P   |         matrix lies along k.
//                  +------+------+---

#include "parts/card.cuh"
constexpr int batch = 10000;
constexpr int TM = 16;
constexpr int TN = 28;
constexpr int PRODUCTS = 1;
constexpr int BLOCKS = 1;
constexpr int TEAM_ROWS = (j + TM - 1) / TM;
constexpr int TEAM_COLS = (l + TN - 1) / TN;
constexpr int TEAM = TEAM_ROWS * TEAM_COLS;
constexpr int THREADS = PRODUCTS * TEAM;
constexpr int VEC = 16 / sizeof(sum_t);  // elements of one 16-byte access to shared memory
constexpr int K_PADDED = (k + VEC - 1) / VEC * VEC;
constexpr int UNROLL = TM * TN > 32 ? 1 : TM * TN > 16 ? 2 : 4;  // a large thread tile has enough to do in one turn
constexpr int M_VECTOR = 4;
constexpr int N_VECTOR = 4;
constexpr int P_VECTOR = 4;
constexpr int VECTOR_ROWS = 1;
constexpr int VECTOR_COLS = 4;

// A product's operands, as they are stored. A line is longer than it need be where threads read neighbouring lines at once:
// then these begin in other banks.
constexpr int M_PITCH = 308;
constexpr int N_PITCH = 700;
struct __align__(16) operands_t {
    sum_t M[j][M_PITCH];  //@ m_kept_lines for j
    sum_t N[K_PADDED][N_PITCH];  //@ n_kept_lines for K_PADDED
    //@| sum_t kept[REDUCTIONS][TEAM * (TM > TN ? TM : TN)];  // what each thread has found of its rows, or columns  //@ only reduces
};

#include "parts/vector.cuh"
#include "parts/async.cuh"  //@ copies
// Launch: THREADS threads in a block,
//         ceil(batch / PRODUCTS) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
small_batch(
    #include "parts/parameters.cuh"
{
    extern __shared__ operands_t operands[];

    //@| #include "parts/awaits.cuh"  //@ awaits
    //@| #include "parts/dependents.cuh"  //@ dependents
    //@ lines derived
    const int thread = threadIdx.x % TEAM;  // of the team
    const int row = thread / TEAM_COLS;
    const int col = thread % TEAM_COLS;
    const int team = threadIdx.x / TEAM;  //@ only many
    operands_t &own = operands[team];  //@ team for team
    const unsigned int product = blockIdx.x * PRODUCTS + team;  //@ product for blockIdx.x * PRODUCTS + team  //@ only names_product
    //@ instead inputs_of_team
    M += product * stride_m;
    N += product * stride_n;
    //@ end
    //@ lines operands_of_product
    //@ lines results_of_product
    //@ instead output_of_team
    C += product * stride_c;
    P += product * stride_p;
    //@ end

    const auto bring_operands = [&] {
        constexpr int M_LINES = j, M_WIDTH = k;
        constexpr int N_LINES = k, N_WIDTH = l;
        //@ lines inputs_from_arrays
        // All threads take as many turns, so that those of a warp stay together.
        #include "small_batch/bring.cuh"
        #include "small_batch/bring.cuh"  //@ with n for m, N for M
        //@| #include "small_batch/pad.cuh"  //@ padding
    };
    if (product < batch)  // the last block may have teams to spare  //@ only check_batch
        bring_operands();
    //@| bring_operands();  //@ only not check_batch
    #include "small_batch/wait.cuh"  //@ waits_for_copies
    __syncwarp();  // a team never reaches beyond its warp  //@ team_waits for __syncwarp();  // a team never reaches beyond its warp
    if (product >= batch)  //@ only check_batch
        return;

    // Row r and column c of this thread.
    const auto row_of = [&](int r) {
        return r / VECTOR_ROWS * (TEAM_ROWS * VECTOR_ROWS) + row * VECTOR_ROWS + r % VECTOR_ROWS;
    };
    const auto col_of = [&](int c) {
        return c / VECTOR_COLS * (TEAM_COLS * VECTOR_COLS) + col * VECTOR_COLS + c % VECTOR_COLS;
    };
    #include "small_batch/rows_read.cuh"  //@ only ragged_j
    //@| const auto row_read = row_of;  //@ only not ragged_j
    #include "small_batch/rows_read.cuh"  //@ with col for row, c for r, TN for TM, COLS for ROWS, l for j  //@ only ragged_l
    //@| const auto col_read = col_of;  //@ only not ragged_l

    sum_t sum[TM][TN] = {};
#pragma unroll UNROLL
    for (int kk = 0; kk < K_PADDED; kk += VEC) {
        sum_t m[TM][VEC], n[VEC][TN];
        //@ if m_along_k
        #include "small_batch/load_m_along.cuh"
        //@ else
//@| #pragma unroll
        //@| for (int i = 0; i < VEC; ++i)
//@| #pragma unroll
        //@|     for (int r = 0; r < TM; r += VECTOR_ROWS) {
        //@|         const auto rows = read<VECTOR_ROWS>(&own.M[kk + i][row_read(r)]);
//@| #pragma unroll
        //@|         for (int v = 0; v < VECTOR_ROWS; ++v)
        //@|             m[r + v][i] = rows.element[v];
        //@|     }
        //@ end
        //@ if n_along_k
//@| #pragma unroll
        //@| for (int c = 0; c < TN; ++c) {
        //@|     const auto along_k = read<VEC>(&own.N[col_read(c)][kk]);
//@| #pragma unroll
        //@|     for (int i = 0; i < VEC; ++i)
        //@|         n[i][c] = along_k.element[i];
        //@| }
        //@ else
        #include "small_batch/load_n_across.cuh"
        //@ end
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += m[r][i] * n[i][c];  //@ only not complex
                    //@| add_product(sum[r][c], m[r][i], n[i][c]);  //@ only complex
    }

    //@ lines output_from_arrays
    #include "parts/scale.cuh"
    //@| // Scales of this thread's rows and columns: each is read once, and all are on their way together.  //@ only scales_rows_ahead or scales_cols_ahead
    //@| #include "small_batch/row_scales.cuh"  //@ only scales_rows_ahead
    //@| #include "small_batch/row_scales.cuh"  //@ with n for m, col for row, c for r, TN for TM, l for j  //@ only scales_cols_ahead
    //@ lines reduction_starts
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = row_of(r);
        if (Row >= j)  //@ only ragged_j
            break;
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {  //@ p_sums for P_VECTOR
            const index_t Col = col_of(c);
            if (Col >= l)  //@ only ragged_l
                break;
            //@| #include "parts/epilogue.cuh"  //@ epilogue
        }
    }
    //@ if reduces

    //@| // reduce: threads of the team combine what those of one row of the team have found of a row of P, and those of one
    //@| // column of a column.
    //@ lines thread_kept
    //@| __syncwarp();  //@ wait_for_team for __syncwarp
    //@ lines team_found
    //@ end
}
