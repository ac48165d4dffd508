// One thread computes one element of P, and reads a row of M and a column of N from global memory to do so: every element of M
// is read l times, every element of N j times.

//@ include "parts/card.cuh"
constexpr int TILE_WIDTH = 16;  //@ tile_width

//@ include "parts/launch.cuh"
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
naive(  //@ kernel for naive
//@ include "parts/parameters.cuh"
{
//@ include "parts/derived.cuh"
//@ include "parts/block.cuh"
    //@ if check_j and check_l
    if (Row >= j || Col >= l)
        return;
    //@ elif check_j
    if (Row >= j)
        return;
    //@ elif check_l
    if (Col >= l)
        return;
    //@ end

    sum_t Pvalue = 0;
    for (index_t i = 0; i < k; ++i)
    //@ if m_row_major and n_row_major
        Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];
    //@ elif m_row_major and not n_row_major
        Pvalue += M[Row * ld_m + i] * N[Col * ld_n + i];
    //@ elif not m_row_major and n_row_major
        Pvalue += M[i * ld_m + Row] * N[i * ld_n + Col];
    //@ elif not m_row_major and not n_row_major
        Pvalue += M[i * ld_m + Row] * N[Col * ld_n + i];
    //@ end

//@ include "parts/value.cuh"
}
