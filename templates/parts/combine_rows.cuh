
// The kernel after the product, which has left its rows in W: each row of P is the sum of COMBINED of them, each times a factor, in the
// order of the entries of p_index. An entry that leads to no row of the product adds nothing.
using combined_t = float;
constexpr int W_ROWS = 512;
constexpr int P_COLS = 700;
constexpr long long LD_W = 704;
constexpr int COMBINED = 2;
constexpr int SUM_THREADS = 128;
constexpr int SUM_VECTOR = 4;  // neighbouring columns that a thread loads at once,
constexpr int SUM_LOADS = 2;   // and how many times from each row

struct alignas(SUM_VECTOR * sizeof(output_t)) neighbours_t {
    output_t element[SUM_VECTOR];
};

// Launch: SUM_THREADS threads in a block,
//         (rows of P, ceil(P_COLS / (SUM_THREADS * SUM_LOADS * SUM_VECTOR))) blocks in the grid.
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
combine_rows(
    //@ instead combine_rows_parameters
    const int *p_index,
    const float *p_factor,
    const output_t *W,
    output_t *P)
    //@ end
{
    const int thread = threadIdx.x;
    const long long Row = blockIdx.x;
    const int first = (blockIdx.y * (SUM_THREADS * SUM_LOADS) + thread) * SUM_VECTOR;
    combined_t sum[SUM_LOADS][SUM_VECTOR] = {};

    #include "parts/awaits.cuh"
    //@| // Rows of a group's room that are not there belong to no product.  //@ only masked
    //@| constexpr int ROOM = W_ROWS / GROUPS;  //@ only masked
    //@| #include "parts/rows_of_all_groups.cuh"  //@ with W for P  //@ only has_groups and not masked
#pragma unroll
    for (int i = 0; i < COMBINED; ++i) {
        const int from = p_index[Row * COMBINED + i];
        const bool is_row = from >= 0;  //@ row_is_there for from >= 0
        if (is_row) {
            const combined_t factor = p_factor[Row * COMBINED + i];
#pragma unroll
            for (int load = 0; load < SUM_LOADS; ++load) {
                const int Col = first + load * SUM_THREADS * SUM_VECTOR;
                if (Col < P_COLS) {
                    const neighbours_t row = *reinterpret_cast<const neighbours_t *>(&W[from * LD_W + Col]);
#pragma unroll
                    for (int v = 0; v < SUM_VECTOR; ++v)
                        sum[load][v] += factor * static_cast<combined_t>(row.element[v]);
                }
            }
        }
    }
#pragma unroll
    for (int load = 0; load < SUM_LOADS; ++load) {
        const int Col = first + load * SUM_THREADS * SUM_VECTOR;
        if (Col >= P_COLS)
            return;
#pragma unroll
        for (int v = 0; v < SUM_VECTOR; ++v) {
            //@ lines adds_c
            P[Row * 700 + Col + v] = static_cast<output_t>(sum[load][v]);  //@ ld_combined for 700
        }
    }
}
