// One thread computes one element of P. It reads a whole row of M and a whole column of N from
// global memory to do so: every element of M is read l times, every element of N j times.

#include "parts/card.cuh"
constexpr int TILE_WIDTH = 16;

//@ if has_groups
//@| #include "parts/groups.cuh"
//@ end
#include "parts/launch.cuh"
extern "C" __global__ void __launch_bounds__(TILE_WIDTH * TILE_WIDTH)
naive(
    #include "parts/parameters.cuh"
{
    //@ lines derived
    #include "parts/block.cuh"
    //@ if reduces and check_j or reduces and check_l
    //@| const index_t terms = Row < j && Col < l ? k : 0;  // none where this thread hangs over the edge of P  //@ check_j && check_l
    //@ elif check_j or check_l
    if (Row >= j || Col >= l)  //@ check_j || check_l
        return;  // this thread hangs over the edge of P
    //@ end

    #include "parts/product.cuh"
    sum_t Pvalue = 0;
    //@ if m_scales_k or n_scales_k or pairs_of_4
    //@| for (index_t i = 0; i < k; ++i) {  //@ terms for k
    //@ if m_row_major
    //@|     const sum_t m = M[Row * ld_m + i];  //@ m_element for M  //@ m_in_line for + i]
    //@ else
    //@|     const sum_t m = M[i * ld_m + Row];  //@ m_element for M  //@ m_in_line for + Row]
    //@ end
    //@ if n_row_major
    //@|     const sum_t n = N[i * ld_n + Col];  //@ n_element for N  //@ n_in_line for + Col]
    //@ else
    //@|     const sum_t n = N[Col * ld_n + i];  //@ n_element for N  //@ n_in_line for + i]
    //@ end
    //@|     Pvalue += m * n;
    //@| }
    //@ else
    for (index_t i = 0; i < k; ++i)  //@ terms for k
    //@ end
    //@ if m_scales_k or n_scales_k or pairs_of_4
    //@ elif m_row_major and n_row_major
        Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];
    //@ elif m_row_major and not n_row_major
    //@|     Pvalue += M[Row * ld_m + i] * N[Col * ld_n + i];
    //@ elif not m_row_major and n_row_major
    //@|     Pvalue += M[i * ld_m + Row] * N[i * ld_n + Col];
    //@ else
    //@|     Pvalue += M[i * ld_m + Row] * N[Col * ld_n + i];
    //@ end

    //@ if reduces
    //@| #include "parts/reduce_block.cuh"
    //@ else
    #include "parts/beside.cuh"
    #include "parts/epilogue.cuh"
    //@ end
}
//@ if reduces
//@| #include "parts/combine.cuh"
//@ end
