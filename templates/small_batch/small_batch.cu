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
constexpr int batch = 10000;  //@ batch  //@ only fixed_batch
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
    sum_t M[j][M_PITCH];  //@ only m_row_major
    //@| sum_t M[K_PADDED][M_PITCH];  //@ only not m_row_major
    sum_t N[K_PADDED][N_PITCH];  //@ only n_row_major
    //@| sum_t N[l][N_PITCH];  //@ only not n_row_major
    //@| sum_t kept[REDUCTIONS][TEAM * (TM > TN ? TM : TN)];  // what each thread has found of its rows, or columns  //@ only reduces
};

#include "parts/vector.cuh"
//@ if async
#include "parts/async.cuh"
//@ else
// From global memory into shared memory, as elements of the sum.
template <int COUNT>
__device__ __forceinline__ void copy(sum_t *to, const input_t *from)
{
    const auto as_stored = read<COUNT>(from);
    vector_t<sum_t, COUNT> written;
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        written.element[i] = static_cast<sum_t>(as_stored.element[i]);
    *reinterpret_cast<vector_t<sum_t, COUNT> *>(to) = written;
}

//@ end
// Launch: THREADS threads in a block,
//         ceil(batch / PRODUCTS) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
small_batch(
    #include "parts/parameters.cuh"
{
    extern __shared__ operands_t operands[];

    //@ lines derived
    const int thread = threadIdx.x % TEAM;  // of the team
    const int row = thread / TEAM_COLS;
    const int col = thread % TEAM_COLS;
    //@ if many
    const int team = threadIdx.x / TEAM;
    operands_t &own = operands[team];
    const unsigned int product = blockIdx.x * PRODUCTS + team;
    //@ else
    //@| operands_t &own = operands[0];
    //@ end
    //@| const unsigned int product = blockIdx.x;  //@ only batched and not many or points and not many
    M += product * stride_m;  //@ only batched and not m_array
    N += product * stride_n;  //@ only batched and not n_array
    //@| scale_m += product * stride_scale_m;  //@ only scale_m and batched
    //@| scale_n += product * stride_scale_n;  //@ only scale_n and batched
    //@ if operands and batched
    //@ lines operands_of_product
    //@ end
    //@ if reduces and batched
    //@ lines results_of_product
    //@ end
    C += product * stride_c;  //@ only batched and has_beta and not c_array
    P += product * stride_p;  //@ only batched and not p_array

    const auto bring_operands = [&] {
        constexpr int M_LINES = j, M_WIDTH = k;  //@ only m_row_major
        //@| constexpr int M_LINES = k, M_WIDTH = j;  //@ only not m_row_major
        constexpr int N_LINES = k, N_WIDTH = l;  //@ only n_row_major
        //@| constexpr int N_LINES = l, N_WIDTH = k;  //@ only not n_row_major
        //@| const input_t *M = M_array[product];  //@ only m_array
        //@| const input_t *N = N_array[product];  //@ only n_array
        // All threads take as many turns, so that those of a warp stay together.
#pragma unroll 8
        for (int first = 0; first < M_LINES * M_WIDTH / M_VECTOR; first += TEAM) {
            const int e = first + thread;
            const int line = e / (M_WIDTH / M_VECTOR);
            const int at = e % (M_WIDTH / M_VECTOR) * M_VECTOR;
            if (line < M_LINES)
                copy_async<M_VECTOR * sizeof(input_t)>(&own.M[line][at], &M[line * ld_m + at]);  //@ only async
            //@|     copy<M_VECTOR>(&own.M[line][at], &M[line * ld_m + at]);  //@ only not async
        }
#pragma unroll 8
        for (int first = 0; first < N_LINES * N_WIDTH / N_VECTOR; first += TEAM) {
            const int e = first + thread;
            const int line = e / (N_WIDTH / N_VECTOR);
            const int at = e % (N_WIDTH / N_VECTOR) * N_VECTOR;
            if (line < N_LINES)
                copy_async<N_VECTOR * sizeof(input_t)>(&own.N[line][at], &N[line * ld_n + at]);  //@ only async
            //@|     copy<N_VECTOR>(&own.N[line][at], &N[line * ld_n + at]);  //@ only not async
        }
        //@ if ragged_k
        //@| // The last steps of k, up to a multiple of VEC, add nothing.
        //@| for (int e = thread; e < j * (K_PADDED - k); e += TEAM)
        //@|     own.M[e / (K_PADDED - k)][k + e % (K_PADDED - k)] = 0;  //@ only m_row_major
        //@|     own.M[k + e / j][e % j] = 0;  //@ only not m_row_major
        //@| for (int e = thread; e < l * (K_PADDED - k); e += TEAM)
        //@|     own.N[k + e / l][e % l] = 0;  //@ only n_row_major
        //@|     own.N[e / (K_PADDED - k)][k + e % (K_PADDED - k)] = 0;  //@ only not n_row_major
        //@ end
    };
    if (product < batch)  // the last block may have teams to spare  //@ only check_batch
        bring_operands();
    //@| bring_operands();  //@ only not check_batch
    //@ if async
    commit_copies();
    wait_for_copies<0>();
    //@ end
    __syncwarp();  // a team never reaches beyond its warp  //@ only team_in_warp
    //@| __syncthreads();  //@ only not team_in_warp
    if (product >= batch)  //@ only check_batch
        return;

    // Row r and column c of this thread.
    const auto row_of = [&](int r) {
        return r / VECTOR_ROWS * (TEAM_ROWS * VECTOR_ROWS) + row * VECTOR_ROWS + r % VECTOR_ROWS;
    };
    const auto col_of = [&](int c) {
        return c / VECTOR_COLS * (TEAM_COLS * VECTOR_COLS) + col * VECTOR_COLS + c % VECTOR_COLS;
    };
    //@ if ragged_j
    // Only the last VECTOR_ROWS may hang over the edge; they are read as those that are there, and not written.
    const auto row_read = [&](int r) {
        return r < TM - VECTOR_ROWS || row_of(r) < j ? row_of(r) : j - VECTOR_ROWS;
    };
    //@ else
    //@| const auto row_read = row_of;
    //@ end
    //@ if ragged_l
    // Only the last VECTOR_COLS may hang over the edge; they are read as those that are there, and not written.
    const auto col_read = [&](int c) {
        return c < TN - VECTOR_COLS || col_of(c) < l ? col_of(c) : l - VECTOR_COLS;
    };
    //@ else
    //@| const auto col_read = col_of;
    //@ end

    sum_t sum[TM][TN] = {};
#pragma unroll UNROLL
    for (int kk = 0; kk < K_PADDED; kk += VEC) {
        sum_t m[TM][VEC], n[VEC][TN];
        //@ if m_row_major
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const auto along_k = read<VEC>(&own.M[row_read(r)][kk]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                m[r][i] = along_k.element[i];
        }
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
        //@ if n_row_major
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
            for (int c = 0; c < TN; c += VECTOR_COLS) {
                const auto cols = read<VECTOR_COLS>(&own.N[kk + i][col_read(c)]);
#pragma unroll
                for (int v = 0; v < VECTOR_COLS; ++v)
                    n[i][c + v] = cols.element[v];
            }
        //@ else
        //@| #pragma unroll
        //@| for (int c = 0; c < TN; ++c) {
        //@|     const auto along_k = read<VEC>(&own.N[col_read(c)][kk]);
        //@| #pragma unroll
        //@|     for (int i = 0; i < VEC; ++i)
        //@|         n[i][c] = along_k.element[i];
        //@| }
        //@ end
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += m[r][i] * n[i][c];
    }

    //@| // Looked up only now: until here the registers belonged to the sums.  //@ only has_beta and c_array or p_array
    //@ if always_c and c_array
    //@| const output_t *C = C_array[product];
    //@ elif has_beta and c_array
    //@| const output_t *C = beta != 0 ? C_array[product] : nullptr;  // beta = 0 must not even look for C
    //@ end
    //@| output_t *P = P_array[product];  //@ only p_array
    #include "parts/scale.cuh"
    //@| // Scales of this thread's rows and columns: each is read once, and all are on their way together.  //@ only scales_rows_ahead or scales_cols_ahead
    //@ if scales_rows_ahead
    //@| float row_scale[TM];
//@| #pragma unroll
    //@| for (int r = 0; r < TM; ++r)
    //@|     row_scale[r] = row_of(r) < j ? scale_m[row_of(r)] : 0;  //@ only ragged_j
    //@|     row_scale[r] = scale_m[row_of(r)];  //@ only not ragged_j
    //@ end
    //@ if scales_cols_ahead
    //@| float col_scale[TN];
//@| #pragma unroll
    //@| for (int c = 0; c < TN; ++c)
    //@|     col_scale[c] = col_of(c) < l ? scale_n[col_of(c)] : 0;  //@ only ragged_l
    //@|     col_scale[c] = scale_n[col_of(c)];  //@ only not ragged_l
    //@ end
    //@ if reduces
    //@ lines reduction_starts
    //@ end
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
            //@| #include "parts/epilogue.cuh"
        }
    }
    //@ if reduces

    //@| // reduce: threads of the team combine what those of one row of the team have found of a row of P, and those of one
    //@| // column of a column.
    //@ lines thread_kept
    //@| __syncwarp();  //@ only team_in_warp
    //@| __syncthreads();  //@ only not team_in_warp
    //@ lines team_found
    //@ end
}
