#include "wgmma/chunks.cuh"  //@ only prepares
#include "wgmma/squares.cuh"  //@ only squares
//@| #include "wgmma/kept.cuh"  //@ kept
// Where a product's elements begin in a tile, in bytes: so many rows (columns) from the tile's first, and so many elements along k.
__device__ constexpr int m_offset(int row, int kk)  //@ only not m_weights
{
    return (row * LINE + kk) * sizeof(input_t);  //@ m_place for kk  //@ m_t for input_t  //@ only m_along_k
    //@| return (row / LINE * M_LINES + kk) * 128;  //@ only not m_along_k
}

__device__ constexpr int n_offset(int kk)
{
    //@| return kk * sizeof(input_t);  //@ n_place for kk  //@ n_t for input_t  //@ only n_along_k
    return kk * 128;  //@ only not n_along_k
}

