
//@ if not reduces_by_team
// Outputs for each row or column of P. What is found of a row in one place of the grid goes to W, in one of ROW_SLOTS slots; what is
// found of a column, in one of COL_SLOTS, after those of all rows. The kernel after this one combines the slots in their order.
constexpr long long ROW_SLOTS = 6;
constexpr long long COL_SLOTS = 4;
constexpr long long COL_RESULTS = 6 * 512;
constexpr long long RESULTS = 6 * 512 + 4 * 700;  // of one product
constexpr int LANE_COLS = 8;  // lanes of a warp that have elements of one row  //@ only reduces_by_warp
//@ end
constexpr int REDUCTIONS = 2;  //@ only reduces_by_rows or reduces_by_team
//@ if uses_larger

// Of two numbers the larger. A NaN stays one.
__device__ __forceinline__ float larger(float x, float y)  //@ real_t for float  //@ real_t for float  //@ real_t for float
{
    return x >= y || x != x ? x : y;
}

// The largest of none: infinity, below zero.
__device__ __forceinline__ float lowest()  //@ real_t for float
{
    return __int_as_float(0xff800000);  //@ lowest for __int_as_float(0xff800000)
}
//@ end
