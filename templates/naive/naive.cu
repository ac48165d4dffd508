// One thread computes one element of P. It reads a whole row of M and a whole column of N from
// global memory to do so: every element of M is read l times, every element of N j times.

#include "parts/card.cuh"
constexpr int TILE_WIDTH = 16;

#include "parts/rows.cuh"
#include "parts/launch.cuh"
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
naive(
    #include "parts/parameters.cuh"
{
    //@ lines derived
    #include "parts/block.cuh"
    //@| const index_t terms = Row < j && Col < l ? k : 0;  // none where this thread hangs over the edge of P  //@ check_j && check_l  //@ only reduces_at_edge and not gathers_m
    if (Row >= j || Col >= l)  //@ check_j || check_l  //@ only returns_at_edge
        return;  // this thread hangs over the edge of P

    #include "parts/product.cuh"
    //@| #include "naive/gathered_row.cuh"  //@ only gathers_m
    sum_t Pvalue = 0;
    for (index_t i = 0; i < k; ++i)  //@ terms for k  //@ only not names_elements
        Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];  //@ m_read for M[Row * ld_m + i]  //@ n_read for N[i * ld_n + Col]
    //@| for (index_t i = 0; i < k; ++i) {  //@ terms for k  //@ only names_elements
    //@|     const sum_t m = M[Row * ld_m + i];  //@ m_read for M[Row * ld_m + i]
    //@|     const sum_t n = N[i * ld_n + Col];  //@ n_read for N[i * ld_n + Col]
    //@|     Pvalue += m * n;
    //@| }

    //@| #include "parts/beside.cuh"  //@ beside
    #include "parts/epilogue.cuh"  //@ ending
}
//@| #include "parts/combine.cuh"  //@ only reduces
