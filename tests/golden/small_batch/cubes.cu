// j16 k16 l16 f32 batch=10000
//
//     P (16 x 16) = M (16 x 16) . N (16 x 16)
//
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

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 16;
constexpr index_t k = 16;
constexpr index_t l = 16;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr long long stride_m = 256;
constexpr long long stride_n = 256;
constexpr long long stride_p = 256;
constexpr int TM = 2;
constexpr int TN = 4;
constexpr int PRODUCTS = 4;
constexpr int BLOCKS = 6;
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
constexpr int M_PITCH = 20;
constexpr int N_PITCH = 16;
struct __align__(16) operands_t {
    sum_t M[j][M_PITCH];
    sum_t N[K_PADDED][N_PITCH];
};

// Neighbouring elements, as one instruction takes them.
template <typename element_t, int COUNT>
struct alignas(COUNT * sizeof(element_t)) vector_t {
    element_t element[COUNT];
};

template <int COUNT, typename element_t>
__device__ __forceinline__ vector_t<element_t, COUNT> read(const element_t *from)
{
    return *reinterpret_cast<const vector_t<element_t, COUNT> *>(from);
}

// Copies from global to shared memory past the registers (sm_80 and newer): a thread starts them, commits them as one group,
// and goes on; it waits for a group before it reads what the group brought.

template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES));
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;");
}

// Until at most this many groups, the latest ones, are still under way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS));
}

// Launch: THREADS threads in a block,
//         ceil(batch / PRODUCTS) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
small_batch_f32_16x16x16(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    extern __shared__ operands_t operands[];

    const int thread = threadIdx.x % TEAM;  // of the team
    const int row = thread / TEAM_COLS;
    const int col = thread % TEAM_COLS;
    const int team = threadIdx.x / TEAM;
    operands_t &own = operands[team];
    const unsigned int product = blockIdx.x * PRODUCTS + team;
    M += product * stride_m;
    N += product * stride_n;
    P += product * stride_p;

    const auto bring_operands = [&] {
        constexpr int M_LINES = j, M_WIDTH = k;
        constexpr int N_LINES = k, N_WIDTH = l;
        // All threads take as many turns, so that those of a warp stay together.
#pragma unroll 8
        for (int first = 0; first < M_LINES * M_WIDTH / M_VECTOR; first += TEAM) {
            const int e = first + thread;
            const int line = e / (M_WIDTH / M_VECTOR);
            const int at = e % (M_WIDTH / M_VECTOR) * M_VECTOR;
            if (line < M_LINES)
                copy_async<M_VECTOR * sizeof(input_t)>(&own.M[line][at], &M[line * ld_m + at]);
        }
#pragma unroll 8
        for (int first = 0; first < N_LINES * N_WIDTH / N_VECTOR; first += TEAM) {
            const int e = first + thread;
            const int line = e / (N_WIDTH / N_VECTOR);
            const int at = e % (N_WIDTH / N_VECTOR) * N_VECTOR;
            if (line < N_LINES)
                copy_async<N_VECTOR * sizeof(input_t)>(&own.N[line][at], &N[line * ld_n + at]);
        }
    };
    bring_operands();
    commit_copies();
    wait_for_copies<0>();
    __syncwarp();  // a team never reaches beyond its warp

    // Row r and column c of this thread.
    const auto row_of = [&](int r) {
        return r / VECTOR_ROWS * (TEAM_ROWS * VECTOR_ROWS) + row * VECTOR_ROWS + r % VECTOR_ROWS;
    };
    const auto col_of = [&](int c) {
        return c / VECTOR_COLS * (TEAM_COLS * VECTOR_COLS) + col * VECTOR_COLS + c % VECTOR_COLS;
    };
    const auto row_read = row_of;
    const auto col_read = col_of;

    sum_t sum[TM][TN] = {};
#pragma unroll UNROLL
    for (int kk = 0; kk < K_PADDED; kk += VEC) {
        sum_t m[TM][VEC], n[VEC][TN];
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const auto along_k = read<VEC>(&own.M[row_read(r)][kk]);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                m[r][i] = along_k.element[i];
        }
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
            for (int c = 0; c < TN; c += VECTOR_COLS) {
                const auto cols = read<VECTOR_COLS>(&own.N[kk + i][col_read(c)]);
#pragma unroll
                for (int v = 0; v < VECTOR_COLS; ++v)
                    n[i][c + v] = cols.element[v];
            }
#pragma unroll
        for (int i = 0; i < VEC; ++i)
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += m[r][i] * n[i][c];
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = row_of(r);
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = col_of(c);
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}
