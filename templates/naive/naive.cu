// One thread computes one element of P. It reads a whole row of M and a whole column of N from
// global memory to do so: every element of M is read l times, every element of N j times.

#include "parts/card.cuh"
constexpr int TILE_WIDTH = 16;

#include "parts/rows.cuh"
//@| #include "parts/repacked.cuh"  //@ repacked
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

    //@| #include "parts/one_triangle.cuh"  //@ only symmetric

    #include "parts/product.cuh"
    //@| #include "naive/gathered_row.cuh"  //@ only gathers_m
    //@| #include "parts/sum_of_parts.cuh"  //@ only adds_parts
    sum_t Pvalue = 0;  //@ only not adds_parts
    #include "naive/multiply.cuh"  //@ multiply  //@ only not adds_parts

    //@| #include "parts/beside.cuh"  //@ beside
    #include "parts/epilogue.cuh"  //@ ending
}
//@| #include "parts/combine.cuh"  //@ only reduces
